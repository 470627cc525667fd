/* The thread of a stream, and its chunks. */
#include "cache/read/read_ahead_file.h"

#include "cache/lease/path_request.h"
#include "cache/read/background_fetch.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"

#include <stdlib.h>
#include <string.h>

/*
 * Items of one call: a reader of 100 MB needs no other call. Bytes that are not read wait in the
 * connection.
 */
#define ITEMS_MAX 128
/* The first items are small, so that their bytes can be handed out early; then they double. */
#define ITEM_FIRST ((uint64_t)128 * 1024)

/* ---- Chunks ---- */

static void read_ahead_file_chunks_free_locked(struct read_ahead_file *s)
{
	struct chunk *one;

	while ((one = STAILQ_FIRST(&s->chunks))) {
		STAILQ_REMOVE_HEAD(&s->chunks, link);
		free(one);
	}
}

void read_ahead_file_add_locked(struct read_ahead_file *s, struct chunk *chunk)
{
	STAILQ_INSERT_TAIL(&s->chunks, chunk, link);
	s->end = chunk->offset + chunk->len;
	pthread_cond_broadcast(&s->ahead->changed);
}

void read_ahead_file_trim_locked(struct read_ahead_file *s)
{
	struct chunk *one;

	while ((one = STAILQ_FIRST(&s->chunks)) &&
		one->offset + one->len + READAHEAD_BEHIND <= s->reader) {
		STAILQ_REMOVE_HEAD(&s->chunks, link);
		s->start = one->offset + one->len;
		free(one);
	}
}

void read_ahead_file_drop_locked(struct read_ahead_file *s)
{
	if (s->dropped)
		return;
	s->dropped = true;
	if (s->running)
		cancel_throw(&s->cancel);
	pthread_cond_broadcast(&s->ahead->changed);
	read_ahead_file_rest_locked(s);
}

void read_ahead_file_rest_locked(struct read_ahead_file *s)
{
	if (!s->dropped || s->running || s->readers || !s->inode)
		return;
	read_ahead_file_chunks_free_locked(s);
	s->ahead->windows -= s->window;
	s->window = 0;
	tree_unpin(s->ahead->cache->tree, s->inode);
	s->inode = NULL;
}

/* ---- Filling the chunks ---- */

static bool is_idle_locked(const struct read_ahead_file *s)
{
	return !s->readers && monotonic_ms() >= s->read_ms + READAHEAD_IDLE_MS;
}

static bool is_full_locked(const struct read_ahead_file *s)
{
	return s->end >= s->reader + s->window;
}

/* Waits until there is room. false: no reader wants the stream any more. */
static bool wait_for_room(struct read_ahead_file *s)
{
	struct read_ahead *a = s->ahead;

	pthread_mutex_lock(&a->lock);
	while (!s->dropped && is_full_locked(s) && !is_idle_locked(s))
		condition_wait_until(&a->changed, &a->lock, s->read_ms + READAHEAD_IDLE_MS);
	if (is_full_locked(s))
		read_ahead_file_drop_locked(s);
	bool wanted = !s->dropped;

	pthread_mutex_unlock(&a->lock);
	return wanted;
}

static enum err start_chunk(
	struct read_ahead_file *s, const struct fetch_item *item, struct error *e)
{
	if (!wait_for_room(s))
		return error_set(e, ERR_INTERRUPTED, "nobody reads on");
	s->filling = malloc(sizeof *s->filling + item->length);
	if (!s->filling)
		return error_set(e, ERR_NO_MEMORY, "reading ahead");
	s->filling->offset = item->offset;
	s->filling->len = 0;
	return ERR_OK;
}

/* One call of the stream. */
struct stretch {
	struct read_ahead_file *stream;
	struct call call;
	struct progress progress;
	struct fetch_item items[ITEMS_MAX];
	size_t count;
};

static enum err fill_chunk(struct stretch *t, const struct fetch_piece *piece, struct error *e)
{
	struct read_ahead_file *s = t->stream;
	const struct fetch_item *item = &t->items[piece->item];
	enum err kind = s->filling ? ERR_OK : start_chunk(s, item, e);

	if (kind)
		return kind;
	if (piece->offset != item->offset + s->filling->len ||
		piece->len > item->length - s->filling->len)
		return error_set(e, ERR_PROTOCOL, "other bytes than were asked for");
	memcpy(s->filling->bytes + s->filling->len, piece->bytes, piece->len);
	s->filling->len += piece->len;
	return ERR_OK;
}

/* The version in the first answer is the version of the stream. */
static enum err check_version(struct read_ahead_file *s, const struct attr *attr, struct error *e)
{
	if (!s->has_version) {
		fetch_learn(s->ahead->cache, s->inode, &s->asked, attr);
		s->version = *attr;
	} else if (!attr_is_same_version(&s->version, attr)) {
		return error_set(e, ERR_INTERRUPTED, "changed while it was read");
	}
	return ERR_OK;
}

static enum err end_chunk(struct stretch *t, const struct fetch_piece *piece, struct error *e)
{
	struct read_ahead_file *s = t->stream;
	const struct fetch_item *item = &t->items[piece->item];

	/* A file that changes is no error: the read starts over. */
	if (piece->err == ERR_CONFLICT)
		return error_set(e, ERR_INTERRUPTED, "changed while it was read");
	if (piece->err)
		return error_set(e, piece->err, "%s: %s", item->path, error_words(piece->err));
	enum err kind = check_version(s, &piece->attr, e);

	if (kind)
		return kind;
	if (s->filling)
		fetch_keep(s->ahead->cache, item->path, &s->asked, &s->version, s->filling->offset,
			s->filling->bytes, s->filling->len);
	pthread_mutex_lock(&s->ahead->lock);
	s->has_version = true;
	s->at_end = !s->filling || s->filling->len < item->length ||
		s->filling->offset + s->filling->len >= s->version.size;
	if (s->filling)
		read_ahead_file_add_locked(s, take(s->filling));
	pthread_cond_broadcast(&s->ahead->changed);
	pthread_mutex_unlock(&s->ahead->lock);
	return ERR_OK;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct stretch *t = context;

	if (piece->item >= t->count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	/* The rest of this call's answer lies beyond the end. */
	if (t->stream->at_end)
		return ERR_OK;
	return piece->kind == FETCH_DONE ? end_chunk(t, piece, e) : fill_chunk(t, piece, e);
}

/* ---- Asking ---- */

static uint64_t next_length(uint64_t length)
{
	return length * 2 < VERB_DATA_MAX ? length * 2 : VERB_DATA_MAX;
}

static uint64_t known_size(struct read_ahead_file *s)
{
	struct attr attr;

	if (s->has_version)
		return s->version.size;
	tree_attr(s->ahead->cache->tree, s->inode, &attr);
	return attr.size;
}

static uint64_t end_of_call(const struct read_ahead_file *s)
{
	uint64_t most = provider_fetch_max(s->ahead->cache->provider);

	return most < UINT64_MAX - s->end ? s->end + most : UINT64_MAX;
}

/*
 * Plans items from the end of the chunks on. In the first call they grow; in others all have the
 * same size.
 */
static void plan(struct stretch *t, const char *path)
{
	struct read_ahead_file *s = t->stream;
	bool is_first = !s->has_version;
	uint64_t at = s->end, length = is_first ? ITEM_FIRST : VERB_DATA_MAX;
	uint64_t stop = end_of_call(s);
	struct expect target = tree_expect(s->ahead->cache->tree, s->inode);
	uint64_t size = known_size(s);

	if (size < stop)
		stop = size;
	t->count = 0;
	do {
		t->items[t->count++] = (struct fetch_item){ .kind = FETCH_BYTES,
			.path = path,
			.target = target,
			.offset = at,
			.length = length,
			.flags = CHANGE_BY_HANDLE | (s->no_atime ? FETCH_NOATIME : 0) };
		at += length;
		length = next_length(length);
	} while (t->count < ITEMS_MAX && at < stop);
}

static enum err ask_stretch(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct stretch *t = context;
	struct read_ahead_file *s = t->stream;

	free(take(s->filling));
	if (!s->has_version)
		s->asked = asked_now(c);
	plan(t, path);
	t->progress = progress_now();
	t->progress.also = &s->moved;
	return counted_fetch(&c->counted, &t->call, t->items, t->count, take_piece, t, e);
}

static enum err fetch_all(struct read_ahead_file *s, struct error *e)
{
	AUTO_FREE struct stretch *t = calloc(1, sizeof *t);
	enum err kind = ERR_OK;

	if (!t)
		return error_set(e, ERR_NO_MEMORY, "reading ahead");
	t->stream = s;
	t->call = (struct call){ .progress_ms = cache_progress_ms(s->ahead->cache),
		.cancel = &s->cancel,
		.progress = &t->progress };
	while (!kind && !s->at_end && wait_for_room(s))
		kind = cache_with_path(s->ahead->cache, s->inode, NULL, ask_stretch, t, e);
	return s->at_end ? ERR_OK : kind;
}

/* The fetched bytes stay for the readers, as long as there are any. */
static void linger_locked(struct read_ahead_file *s)
{
	while (!s->dropped && !is_idle_locked(s))
		condition_wait_until(
			&s->ahead->changed, &s->ahead->lock, s->read_ms + READAHEAD_IDLE_MS);
}

void *read_ahead_file_run(void *context)
{
	struct read_ahead_file *s = context;
	struct error e = { 0 };

	fetch_all(s, &e);
	free(take(s->filling));
	pthread_mutex_lock(&s->ahead->lock);
	if (s->at_end)
		linger_locked(s);
	else
		s->error = e;
	read_ahead_file_drop_locked(s);
	s->running = false;
	read_ahead_file_rest_locked(s);
	pthread_mutex_unlock(&s->ahead->lock);
	return NULL;
}
