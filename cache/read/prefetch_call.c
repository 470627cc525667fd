/*
 * One fetch of many files: its plan, its thread, and the outcome for each file that arrives.
 */
#include "cache/read/prefetch_inside.h"

#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"

#include <stdlib.h>
#include <string.h>

/*
 * Each call has a connection to the sandbox. A reader that finds no place asks for its file alone.
 */
#define CALLS_MAX 8

/* ---- The answer ---- */

/* The file that item `n` was asked for, unless it came already by another name. */
static struct prefetch_file *awaited_locked(struct prefetch_call *call, size_t n)
{
	const struct tree_file *file = &call->files[n];
	struct prefetch_file *f =
		prefetch_find_locked(call->prefetch, file->inode, file->offset, file->size);

	return f && f->call == call ? f : NULL;
}

/* `version` NULL: the bytes that came are worthless. */
static void end_file(struct prefetch_call *call, size_t n, const struct attr *version)
{
	struct prefetch *b = call->prefetch;

	pthread_mutex_lock(&b->lock);
	struct prefetch_file *f = awaited_locked(call, n);

	call->arrived += call->files[n].size;
	if (f && version) {
		f->version = *version;
		f->seen = call->asked.seen;
		prefetch_has_locked(b, f, take(call->filling), call->filled);
	} else if (f) {
		prefetch_forget_locked(b, f);
	}
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* Whether the bytes are all that was wanted, of a version that nothing here is newer than. */
static bool is_whole(
	struct prefetch_call *call, const struct tree_file *file, const struct attr *version)
{
	uint64_t end = file->has_end ? version->size : file->offset + file->size;

	return call->filled && file->offset + call->filled == end &&
		tree_still(call->prefetch->cache->tree, file->inode, call->asked.seen, version);
}

void prefetch_call_took(struct prefetch_call *call, size_t n, const struct attr *version)
{
	struct cache *c = call->prefetch->cache;
	const struct tree_file *file = &call->files[n];

	fetch_learn(c, file->inode, &call->asked, version);
	if (!is_whole(call, file, version)) {
		end_file(call, n, NULL);
		return;
	}
	fetch_keep(c, file->path, &call->asked, version, file->offset, call->filling, call->filled);
	end_file(call, n, version);
}

size_t prefetch_call_room(const struct prefetch_call *call, size_t n)
{
	uint64_t size = call->files[n].size;

	return (size_t)(n || size > TREE_WHOLE_MAX ? size : TREE_WHOLE_MAX);
}

static enum err add_bytes(
	struct prefetch_call *call, size_t n, const struct fetch_piece *piece, struct error *e)
{
	size_t room = prefetch_call_room(call, n);

	if (!call->filling)
		call->filling = malloc(room);
	if (!call->filling)
		return error_set(e, ERR_NO_MEMORY, "reading small files");
	if (piece->offset != call->files[n].offset + call->filled ||
		piece->len > room - call->filled)
		return error_set(e, ERR_PROTOCOL, "other bytes than were asked for");
	memcpy(call->filling + call->filled, piece->bytes, piece->len);
	call->filled += piece->len;
	return ERR_OK;
}

static void drop_filling(struct prefetch_call *call)
{
	free(take(call->filling));
	call->filled = 0;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct prefetch_call *call = context;

	if (piece->item >= call->asked_count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	size_t n = call->asked_files[piece->item];

	if (piece->kind == FETCH_DATA)
		return add_bytes(call, n, piece, e);
	if (piece->err)
		end_file(call, n, NULL);
	else
		prefetch_call_took(call, n, &piece->attr);
	drop_filling(call);
	return ERR_OK;
}

/* ---- Asking ---- */

/* The first file has an open handle. The mode bits of the others were not checked yet. */
static struct fetch_item *items_of(const struct prefetch_call *call)
{
	struct fetch_item *items = calloc(call->asked_count, sizeof *items);

	for (size_t n = 0; items && n < call->asked_count; n++) {
		size_t file = call->asked_files[n];

		items[n] = (struct fetch_item){ .kind = FETCH_BYTES,
			.path = call->files[file].path,
			.target = call->files[file].target,
			.offset = call->files[file].offset,
			.length = prefetch_call_room(call, file),
			.flags = (file ? 0 : CHANGE_BY_HANDLE) |
				(call->no_atime ? FETCH_NOATIME : 0) };
	}
	return items;
}

static enum err fetch_asked(struct prefetch_call *call, const struct call *limits, struct error *e)
{
	AUTO_FREE struct fetch_item *items = items_of(call);

	if (!items)
		return error_set(e, ERR_NO_MEMORY, "reading small files");
	return counted_fetch(&call->prefetch->cache->counted, limits, items, call->asked_count,
		take_piece, call, e);
}

static enum err ask(struct prefetch_call *call, struct error *e)
{
	struct cache *c = call->prefetch->cache;
	const struct call limits = { .progress_ms = cache_progress_ms(c),
		.cancel = &call->prefetch->cancel,
		.progress = &call->progress };

	call->asked = asked_now(c);
	enum err kind = prefetch_take_alike(call, &limits, e);

	drop_filling(call);
	return kind || !call->asked_count ? kind : fetch_asked(call, &limits, e);
}

/* Files that have not come yet never will. */
static void end_call_locked(struct prefetch_call *call, const struct error *error)
{
	struct prefetch *b = call->prefetch;

	for (size_t n = 0; n < call->count; n++) {
		struct prefetch_file *f = awaited_locked(call, n);

		if (f)
			prefetch_forget_locked(b, f);
	}
	call->error = *error;
	call->is_over = true;
	b->calls_count--;
	pthread_cond_broadcast(&b->changed);
}

static void *run(void *context)
{
	struct prefetch_call *call = context;
	struct error error = { 0 };

	if (ask(call, &error))
		cache_note_error(call->prefetch->cache, call->files[0].path, &error);
	drop_filling(call);
	pthread_mutex_lock(&call->prefetch->lock);
	end_call_locked(call, &error);
	pthread_mutex_unlock(&call->prefetch->lock);
	return NULL;
}

/* ---- Beginning ---- */

/* A file with two names is awaited once. */
static void await_all_locked(struct prefetch_call *call)
{
	for (size_t n = 0; n < call->count; n++) {
		const struct tree_file *file = &call->files[n];
		struct prefetch_file *f =
			prefetch_find_locked(call->prefetch, file->inode, file->offset, file->size);

		if (!f)
			f = prefetch_await_locked(call->prefetch, file, call);
		if (f)
			f->before = call->planned;
		call->planned += file->size;
	}
}

void prefetch_drop_over_locked(struct prefetch *b)
{
	struct prefetch_call *next;

	for (struct prefetch_call *call = LIST_FIRST(&b->calls); call; call = next) {
		next = LIST_NEXT(call, link);
		if (call->is_over && !call->readers)
			prefetch_call_free(call);
	}
}

static struct prefetch_call *call_new_locked(
	struct prefetch *b, struct inode *first, const struct tree_file_query *limits)
{
	struct prefetch_call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	call->prefetch = b;
	call->number = b->calls_begun + 1;
	call->progress = progress_now();
	call->files = prefetch_plan_locked(b, first, limits, &call->count);
	if (call->files)
		return call;
	free(call);
	return NULL;
}

struct prefetch_call *prefetch_call_begin_locked(struct prefetch *b, struct inode *first,
	const struct tree_file_query *limits, bool no_atime)
{
	prefetch_drop_over_locked(b);
	struct prefetch_call *call =
		b->calls_count < CALLS_MAX ? call_new_locked(b, first, limits) : NULL;

	if (!call)
		return NULL;
	LIST_INSERT_HEAD(&b->calls, call, link);
	call->no_atime = no_atime;
	b->calls_begun++;
	b->calls_count++;
	await_all_locked(call);
	call->has_thread = !thread_start(&call->thread, run, call);
	if (call->has_thread)
		return call;
	end_call_locked(call, &(struct error){ .kind = ERR_NO_MEMORY });
	return NULL;
}

void prefetch_call_free(struct prefetch_call *call)
{
	struct tree *t = call->prefetch->cache->tree;

	LIST_REMOVE(call, link);
	if (call->has_thread)
		pthread_join(call->thread, NULL);
	for (size_t n = 0; n < call->count; n++)
		tree_file_release(t, &call->files[n]);
	free(call->files);
	free(call->asked_files);
	free(call);
}
