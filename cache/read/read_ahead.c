#include "cache/read/read_ahead.h"

#include "cache/read/background_fetch.h"
#include "cache/read/block_read.h"
#include "cache/read/prefetch.h"
#include "cache/read/read_ahead_file.h"
#include "cache/session/clocks.h"
#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/thread.h"

#include <stdlib.h>
#include <string.h>

/* One read under way. */
struct wish {
	const struct call *call;
	struct inode *inode;
	uint64_t offset;
	unsigned char *out;
	size_t len, got;
	bool goes_on; /* the reader goes on where it was, at `from` */
	uint64_t from;
};

/* ---- Life ---- */

enum err read_ahead_new(struct read_ahead **out, struct cache *c, struct error *e)
{
	struct read_ahead *a = calloc(1, sizeof *a);

	if (!a)
		return error_set(e, ERR_NO_MEMORY, "cache");
	a->cache = c;
	pthread_mutex_init(&a->lock, NULL);
	condition_init(&a->changed);
	for (size_t n = 0; n < READAHEADS_MAX; n++) {
		a->streams[n].ahead = a;
		STAILQ_INIT(&a->streams[n].chunks);
	}
	*out = a;
	return ERR_OK;
}

/* Joins the thread of a stream that has come to an end, or is about to. */
static void join(struct read_ahead_file *s)
{
	if (!s->has_thread)
		return;
	pthread_join(s->thread, NULL);
	cancel_release(&s->cancel);
	s->has_thread = false;
}

void read_ahead_free(struct read_ahead *a)
{
	if (!a)
		return;
	read_ahead_drop_all(a);
	for (size_t n = 0; n < READAHEADS_MAX; n++)
		join(&a->streams[n]);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct read_ahead_file *find_locked(struct read_ahead *a, const struct inode *i)
{
	for (size_t n = 0; n < READAHEADS_MAX; n++)
		if (a->streams[n].inode == i && !a->streams[n].dropped)
			return &a->streams[n];
	return NULL;
}

void read_ahead_drop(struct read_ahead *a, struct inode *i)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	struct read_ahead_file *s = find_locked(a, i);

	if (s)
		read_ahead_file_drop_locked(s);
	pthread_mutex_unlock(&a->lock);
}

void read_ahead_drop_all(struct read_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	for (size_t n = 0; n < READAHEADS_MAX; n++)
		if (a->streams[n].inode)
			read_ahead_file_drop_locked(&a->streams[n]);
	pthread_mutex_unlock(&a->lock);
}

/* ---- Beginning a stream ---- */

/* A place without a stream; NULL: all are in use. */
static struct read_ahead_file *place_locked(struct read_ahead *a)
{
	for (size_t n = 0; n < READAHEADS_MAX; n++)
		if (!a->streams[n].inode)
			return &a->streams[n];
	return NULL;
}

/* An empty stream for the reader; NULL: there may be no more streams. */
static struct read_ahead_file *claim_locked(struct read_ahead *a, const struct wish *w)
{
	bool has_room = a->windows + READAHEAD_WINDOW_FIRST <= READAHEAD_WINDOWS_MAX;
	struct read_ahead_file *s = has_room ? place_locked(a) : NULL;

	if (!s)
		return NULL;
	join(s);
	*s = (struct read_ahead_file){ .ahead = a,
		.inode = w->inode,
		.no_atime = w->call && w->call->no_atime,
		.start = w->from,
		.end = w->from,
		.reader = w->from,
		.grown_at = w->from,
		.window = READAHEAD_WINDOW_FIRST,
		.read_ms = monotonic_ms() };
	STAILQ_INIT(&s->chunks);
	tree_pin(a->cache->tree, w->inode);
	a->windows += s->window;
	return s;
}

static struct read_ahead_file *start_locked(struct read_ahead *a, const struct wish *w)
{
	struct read_ahead_file *s = claim_locked(a, w);

	if (!s)
		return NULL;
	if (!cancel_init(&s->cancel, NULL)) {
		s->running = true;
		s->has_thread = !thread_start(&s->thread, read_ahead_file_run, s);
		if (s->has_thread)
			return s;
		s->running = false;
		cancel_release(&s->cancel);
	}
	read_ahead_file_drop_locked(s);
	return NULL;
}

/*
 * Whether the reader goes on where it was, *from. Notes where it is now. Reads that the kernel
 * makes side by side arrive in any order: one may be missing before this one, or come late.
 */
static bool goes_on_locked(struct inode *i, uint64_t offset, size_t len, uint64_t *from)
{
	uint64_t before = *from = i->read_next, next = offset + len;
	bool is_late = offset < before && next + READAHEAD_BEHIND > before;

	if (!is_late)
		i->read_next = next;
	return before && offset >= before && offset - before <= len;
}

/* ---- Reading from a stream ---- */

static bool reaches(const struct read_ahead_file *s, const struct wish *w)
{
	uint64_t reach = s->end > s->reader ? s->end : s->reader;

	return w->offset >= s->start && (s->at_end || w->offset <= reach + READAHEAD_WINDOW_FIRST);
}

/* Whether nothing is known that is newer than the stream's version. */
static bool is_current(const struct read_ahead_file *s)
{
	return !s->has_version ||
		tree_still(s->ahead->cache->tree, s->inode, s->asked.seen, &s->version);
}

static void grow_locked(struct read_ahead_file *s)
{
	struct read_ahead *a = s->ahead;

	if (s->window >= READAHEAD_WINDOW_MAX || s->reader < s->grown_at + s->window ||
		a->windows + s->window > READAHEAD_WINDOWS_MAX)
		return;
	a->windows += s->window;
	s->window *= 2;
	s->grown_at = s->reader;
}

static bool has_all(const struct read_ahead_file *s, const struct wish *w)
{
	return s->at_end || s->end >= w->offset + w->len;
}

static void copy_locked(const struct read_ahead_file *s, struct wish *w)
{
	const struct chunk *one;

	STAILQ_FOREACH(one, &s->chunks, link)
	{
		uint64_t at = w->offset + w->got;

		if (at < one->offset || at >= one->offset + one->len || w->got == w->len)
			continue;
		size_t skip = (size_t)(at - one->offset), rest = one->len - skip;
		size_t len = rest < w->len - w->got ? rest : w->len - w->got;

		memcpy(w->out + w->got, one->bytes + skip, len);
		w->got += len;
	}
}

static enum err wait_for_bytes_locked(
	struct read_ahead_file *s, const struct wish *w, struct error *e)
{
	enum err kind = ERR_OK;

	if (w->offset + w->len > s->reader)
		s->reader = w->offset + w->len;
	/* Only a reader that has caught up needs more. */
	if (!has_all(s, w))
		grow_locked(s);
	pthread_cond_broadcast(&s->ahead->changed);
	while (!kind && !s->dropped && !has_all(s, w))
		kind = wait_for_other_locked(
			&s->ahead->changed, &s->ahead->lock, w->call, &s->moved, e);
	return kind;
}

/*
 * A stream that ended early because the sandbox could not be reached: asking again would only take
 * the same time again.
 */
static bool is_final(enum err kind)
{
	return kind == ERR_TIMEOUT || kind == ERR_UNREACHABLE || kind == ERR_GONE ||
		kind == ERR_AUTH;
}

/* *served: the read is done, or failed with the result; else it is to start over. */
static enum err serve_locked(
	struct read_ahead_file *s, struct wish *w, bool *served, struct error *e)
{
	s->readers++;
	enum err kind = wait_for_bytes_locked(s, w, e);

	if (!kind && is_final(s->error.kind))
		kind = error_set(e, s->error.kind, "%s", s->error.text);
	if (!kind && !s->dropped && !is_current(s)) {
		s->inode->read_next = 0;
		read_ahead_file_drop_locked(s);
	}
	*served = kind || (!s->dropped && w->offset >= s->start);
	if (!kind && *served)
		copy_locked(s, w);
	s->readers--;
	s->read_ms = monotonic_ms();
	read_ahead_file_trim_locked(s);
	read_ahead_file_rest_locked(s);
	return kind;
}

/* The stream that has the wanted bytes or soon will. */
static struct read_ahead_file *running_locked(struct read_ahead *a, const struct wish *w)
{
	struct read_ahead_file *s = find_locked(a, w->inode);

	if (s && !is_current(s)) {
		read_ahead_file_drop_locked(s);
		return NULL;
	}
	return s && reaches(s, w) ? s : NULL;
}

/* As running_locked(); else a sequential reader gets a new stream. */
static struct read_ahead_file *running_or_new_locked(struct read_ahead *a, const struct wish *w)
{
	struct read_ahead_file *running = running_locked(a, w), *s = find_locked(a, w->inode);

	if (running)
		return running;
	if (s)
		read_ahead_file_drop_locked(s);
	return start_locked(a, w);
}

static enum err read_running(struct read_ahead *a, struct wish *w, bool *served, struct error *e)
{
	enum err kind = ERR_OK;

	pthread_mutex_lock(&a->lock);
	w->goes_on = goes_on_locked(w->inode, w->offset, w->len, &w->from);
	struct read_ahead_file *s = running_locked(a, w);

	*served = false;
	if (s)
		kind = serve_locked(s, w, served, e);
	pthread_mutex_unlock(&a->lock);
	return kind;
}

static enum err read_stream(struct read_ahead *a, struct wish *w, bool *served, struct error *e)
{
	enum err kind = ERR_OK;

	if (!w->goes_on)
		return ERR_OK;
	pthread_mutex_lock(&a->lock);
	struct read_ahead_file *s = running_or_new_locked(a, w);

	if (s)
		kind = serve_locked(s, w, served, e);
	pthread_mutex_unlock(&a->lock);
	return kind;
}

/* ---- Reading without a stream ---- */

static enum err read_stored(struct read_ahead *a, struct wish *w, bool *served, struct error *e)
{
	struct cache *c = a->cache;
	enum err kind = block_read_read(
		c->block_read, w->call, w->inode, w->offset, w->out, w->len, &w->got, served, e);

	if (*served && !w->goes_on)
		background_fetch_note(c->background_fetch, w->inode, -1);
	return kind;
}

static enum err read_exactly(struct read_ahead *a, struct wish *w, struct error *e)
{
	struct reading r = { .item = { .kind = FETCH_BYTES, .offset = w->offset, .length = w->len },
		.out = w->out,
		.room = w->len };
	const struct clocks *clocks = a->cache->options.clocks;
	int64_t began_ms = clocks_awake_ms(clocks);
	enum err kind = fetch_do(a->cache, w->call, w->inode, &r, e);

	w->got = r.got;
	if (!w->goes_on)
		background_fetch_note(
			a->cache->background_fetch, w->inode, clocks_awake_ms(clocks) - began_ms);
	return kind;
}

enum err read_ahead_read(struct read_ahead *a, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, struct error *e)
{
	struct wish w = { .call = call, .inode = i, .offset = offset, .out = out, .len = len };
	bool served;
	enum err kind =
		prefetch_read(a->cache->prefetch, call, i, offset, out, len, &w.got, &served, e);

	if (!served)
		kind = read_running(a, &w, &served, e);
	if (!served)
		kind = read_stored(a, &w, &served, e);
	if (!served)
		kind = read_stream(a, &w, &served, e);
	if (!served)
		kind = read_exactly(a, &w, e);
	*got = w.got;
	return kind;
}
