/*
 * Further facts from answers: errors that a person should see, the free room, and the sandbox's
 * clock.
 */
#include "cache/session/session.h"

#include "providers/base/log.h"

static bool is_ordinary(enum err kind)
{
	switch (kind) {
	case ERR_IO:
	case ERR_NO_MEMORY:
	case ERR_TIMEOUT:
	case ERR_UNREACHABLE:
	case ERR_GONE:
	case ERR_AUTH:
	case ERR_PROTOCOL:
	case ERR_FILES_LIMIT:
	case ERR_CONFLICT: return false;
	default: return true;
	}
}

/* A sandbox that is gone is gone for every path: one line says it. */
static void note(struct cache *c, const char *path, const struct error *e)
{
	const char *where = *path ? path : "/";
	bool is_news;

	pthread_mutex_lock(&c->lock);
	is_news = last_errors_add(&c->errors, where, e, monotonic_ms());
	pthread_mutex_unlock(&c->lock);
	if (is_news)
		log_warn(LOG_CACHE, "%s: %s", where, e->text);
}

void cache_note_error(struct cache *c, const char *path, const struct error *e)
{
	if (!is_ordinary(e->kind))
		note(c, path, e);
}

void cache_note_lost(struct cache *c, const char *path, const struct error *e)
{
	note(c, path, e);
}

void cache_note_space(struct cache *c, const struct space *space)
{
	pthread_mutex_lock(&c->lock);
	c->space = *space;
	pthread_mutex_unlock(&c->lock);
}

/* An answer with a time this long ago was not on its way for all of it: the clock was set back. */
#define SET_BACK_NS ((int64_t)CALL_PROGRESS_MS * 1000000)

static int64_t ns_between(struct timespec from, struct timespec to)
{
	return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

static struct timespec clock_locked(const struct cache *c, int64_t now_ms)
{
	struct timespec now = c->clock;
	int64_t since_ns = (now_ms - c->clock_ms) * 1000000 + now.tv_nsec;

	if (now.tv_sec)
		now = (struct timespec){ .tv_sec = now.tv_sec + since_ns / 1000000000,
			.tv_nsec = since_ns % 1000000000 };
	return now;
}

/* The latest answer is not always the one with the shortest way. */
void cache_note_clock(struct cache *c, const struct timespec *now)
{
	int64_t now_ms = monotonic_ms();

	pthread_mutex_lock(&c->lock);
	int64_t ahead_ns = ns_between(clock_locked(c, now_ms), *now);

	if (!c->clock.tv_sec || ahead_ns > 0 || ahead_ns < -SET_BACK_NS) {
		c->clock = *now;
		c->clock_ms = now_ms;
	}
	if (ahead_ns < -SET_BACK_NS)
		c->changed = (struct timespec){ 0 };
	pthread_mutex_unlock(&c->lock);
}

struct timespec cache_time_of_change(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	struct timespec now = clock_locked(c, monotonic_ms());

	if (now.tv_sec)
		now = c->changed = time_next(c->changed, now);
	pthread_mutex_unlock(&c->lock);
	return now;
}

struct timespec cache_clock(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	struct timespec now = clock_locked(c, monotonic_ms());

	pthread_mutex_unlock(&c->lock);
	return now;
}

void cache_space(struct cache *c, struct space *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->space;
	pthread_mutex_unlock(&c->lock);
}

bool cache_is_read_only(struct cache *c)
{
	struct space space;

	cache_space(c, &space);
	return space.is_read_only;
}
