#include "cache/lease/retry.h"

#include "cache/session/session.h"

#include <stdlib.h>
#include "cache/tree/tree.h"

enum err retries_new(struct retries **out, struct error *e)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return error_set(e, ERR_NO_MEMORY, "cache");
	pthread_mutex_init(&(*out)->lock, NULL);
	return ERR_OK;
}

void retries_free(struct retries *r)
{
	if (r)
		pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Files that do not count as open any more, to be closed without the lock. */
struct closing {
	struct inode *all[RETRIES_MAX + 1];
	size_t count;
};

static void leave_found(struct retry *one, struct closing *closing)
{
	if (one->found)
		closing->all[closing->count++] = one->found;
	one->found = NULL;
}

static void end_locked(struct retries *r, struct retry *one, struct closing *closing)
{
	leave_found(one, closing);
	one->asker = 0;
	r->count--;
}

static void end_over_locked(struct retries *r, struct closing *closing)
{
	int64_t now_ms = monotonic_ms();

	for (size_t n = 0; n < RETRIES_MAX; n++)
		if (r->all[n].asker && r->all[n].until_ms <= now_ms)
			end_locked(r, &r->all[n], closing);
}

static struct retry *find_locked(struct retries *r, pid_t asker)
{
	for (size_t n = 0; n < RETRIES_MAX; n++)
		if (r->all[n].asker == asker)
			return &r->all[n];
	return NULL;
}

static void close_all(struct cache *c, const struct closing *closing)
{
	for (size_t n = 0; n < closing->count; n++)
		c->upcalls.close(c, closing->all[n]);
}

static pid_t asker_of(const struct call *call)
{
	return call ? call->asker : 0;
}

/*
 * Where all places are taken the oldest one that waits for a lookup, which may never come, makes
 * room. NULL: no place waits for one.
 */
static struct retry *place_locked(struct retries *r)
{
	struct retry *oldest = find_locked(r, 0);

	for (size_t n = 0; n < RETRIES_MAX && !(oldest && !oldest->asker); n++)
		if (!r->all[n].found && (!oldest || r->all[n].until_ms < oldest->until_ms))
			oldest = &r->all[n];
	return oldest;
}

static void begin(struct cache *c, pid_t asker)
{
	struct retries *r = c->retries;
	struct closing closing = { .count = 0 };

	pthread_mutex_lock(&r->lock);
	struct retry *one = find_locked(r, asker);

	if (one)
		end_locked(r, one, &closing);
	end_over_locked(r, &closing);
	one = place_locked(r);
	if (one && one->asker)
		end_locked(r, one, &closing);
	if (one) {
		*one = (struct retry){ .asker = asker,
			.until_ms = monotonic_ms() + RETRY_LOOKUP_MS };
		r->count++;
	}
	pthread_mutex_unlock(&r->lock);
	close_all(c, &closing);
}

static void end(struct cache *c, pid_t asker)
{
	struct retries *r = c->retries;
	struct closing closing = { .count = 0 };

	if (!r->count)
		return;
	pthread_mutex_lock(&r->lock);
	struct retry *one = find_locked(r, asker);

	if (one)
		end_locked(r, one, &closing);
	end_over_locked(r, &closing);
	pthread_mutex_unlock(&r->lock);
	close_all(c, &closing);
}

enum err retry_answer(struct cache *c, const struct call *call, enum err kind, struct error *e)
{
	if (kind == ERR_NOT_FOUND) {
		kind = ERR_STALE;
		if (e)
			e->kind = kind;
	}
	if (kind == ERR_STALE && asker_of(call))
		begin(c, call->asker);
	return kind;
}

enum err retry_last_answer(struct cache *c, const struct call *call, enum err kind, struct error *e)
{
	kind = retry_answer(c, call, kind, e);
	if (kind != ERR_STALE && asker_of(call))
		end(c, call->asker);
	return kind;
}

void retry_finds_none(struct cache *c, const struct call *call)
{
	if (asker_of(call))
		end(c, call->asker);
}

/* Whether the asker has a second try. */
static bool has_retry(struct cache *c, pid_t asker)
{
	struct retries *r = c->retries;
	struct closing closing = { .count = 0 };

	if (!asker || !r->count)
		return false;
	pthread_mutex_lock(&r->lock);
	end_over_locked(r, &closing);
	bool has = find_locked(r, asker);

	pthread_mutex_unlock(&r->lock);
	close_all(c, &closing);
	return has;
}

bool retry_finds(struct cache *c, const struct call *call, struct inode *i)
{
	struct retries *r = c->retries;
	struct closing closing = { .count = 0 };

	if (!has_retry(c, asker_of(call)))
		return true;
	if (tree_open_found(c->tree, i))
		return false;
	pthread_mutex_lock(&r->lock);
	struct retry *one = find_locked(r, call->asker);

	if (one)
		leave_found(one, &closing);
	if (one) {
		one->found = i;
		one->until_ms = monotonic_ms() + RETRY_FOUND_MS;
	} else {
		closing.all[closing.count++] = i;
	}
	pthread_mutex_unlock(&r->lock);
	close_all(c, &closing);
	return true;
}

bool retry_found(struct cache *c, const struct call *call, const struct inode *i)
{
	struct retries *r = c->retries;

	if (!asker_of(call) || !r->count)
		return false;
	pthread_mutex_lock(&r->lock);
	const struct retry *one = find_locked(r, call->asker);
	bool found = one && one->found == i;

	pthread_mutex_unlock(&r->lock);
	return found;
}
