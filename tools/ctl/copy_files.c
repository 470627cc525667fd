/* Contents: fetched many files to a call, and passed on as they come. */
#include "tools/ctl/copy_inside.h"

#include "providers/base/cleanup.h"

#include <string.h>
#include <sys/stat.h>

/*
 * The most of one fetch, all of which is lost with a broken connection. Where answers are passed on
 * only when whole, the provider's limit is lower.
 */
#define FETCH_BYTES_MAX ((uint64_t)128 * 1024 * 1024)
#define FETCH_FILES_MAX ((size_t)4096)

/* A single fetch. */
struct fetching {
	struct copying *copying;
	struct fetch_item *items;
	struct copy_entry **entries; /* entry of each item */
	size_t count;
	uint64_t bytes, bytes_max; /* requested so far, and at most */
};

/* ---- Answers ---- */

static bool is_first_part(const struct fetch_item *item)
{
	return item->offset == 0;
}

/* The request is for one byte more than the file had, so that a file that grew is noticed. */
static bool is_last_part(const struct copy_entry *entry, const struct fetch_item *item)
{
	return item->offset + item->length > entry->attr.size;
}

/* The change time counts: a program may write to a file and set its modification time back. */
static bool is_same_version(const struct attr *a, const struct attr *b)
{
	return a->ino == b->ino && attr_is_same_version(a, b);
}

/*
 * A file that came in one part may be a newer version; with several parts, all must be of the
 * listed version.
 */
static bool is_whole(
	const struct copy_entry *entry, const struct fetch_item *item, const struct attr *now)
{
	if (is_first_part(item) && is_last_part(entry, item))
		return now->size < item->length;
	return is_same_version(now, &entry->attr);
}

static enum err begin_file(struct fetching *f, const struct fetch_piece *piece, struct error *e)
{
	struct copy_entry *entry = f->entries[piece->item];
	const struct change create = { .op = CHANGE_CREATE, .flags = CHANGE_EXCL, .mode = 0600 };

	if (entry->staged || entry->is_failed || !is_first_part(&f->items[piece->item]))
		return ERR_OK;
	return copy_begin(f->copying, entry, create, e);
}

static enum err end_part(struct fetching *f, const struct fetch_piece *piece, struct error *e)
{
	struct copy_entry *entry = f->entries[piece->item];
	const struct fetch_item *item = &f->items[piece->item];
	bool is_last = is_last_part(entry, item);

	if (piece->err)
		copy_fail(f->copying, entry, piece->err,
			*piece->why ? piece->why : error_words(piece->err));
	else if (!is_whole(entry, item, &piece->attr))
		copy_fail(f->copying, entry, ERR_CONFLICT, "changed while it was copied");
	else
		entry->attr = piece->attr;
	if (entry->is_failed || !is_last)
		return ERR_OK;
	return copy_end(f->copying, entry, e);
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetching *f = context;
	enum err kind = begin_file(f, piece, e);

	if (kind != ERR_OK)
		return kind;
	if (piece->kind == FETCH_DONE)
		return end_part(f, piece, e);
	return copy_add_bytes(
		f->copying, f->entries[piece->item], piece->offset, piece->bytes, piece->len, e);
}

/* ---- Requests ---- */

static enum err fetch(struct fetching *f, struct error *e)
{
	const struct copy *copy = f->copying->copy;
	enum err kind = ERR_OK;

	if (f->count)
		kind = provider_fetch(
			copy->from, f->copying->call, f->items, f->count, take_piece, f, e);
	f->count = 0;
	f->bytes = 0;
	return kind;
}

/* Adds the part of the file from `offset` on that fits; returns its length. */
static uint64_t add_part(struct fetching *f, struct copy_entry *entry, uint64_t offset)
{
	uint64_t left = entry->attr.size - offset + 1, room = f->bytes_max - f->bytes;
	uint64_t length = left < room ? left : room;

	f->items[f->count] = (struct fetch_item){
		.kind = FETCH_BYTES, .path = entry->path, .offset = offset, .length = length
	};
	f->entries[f->count++] = entry;
	f->bytes += length;
	return length;
}

static bool is_full(const struct fetching *f)
{
	return f->count == FETCH_FILES_MAX || f->bytes == f->bytes_max;
}

static enum err fetch_file(struct fetching *f, struct copy_entry *entry, struct error *e)
{
	uint64_t offset = 0;
	enum err kind = ERR_OK;

	while (kind == ERR_OK && offset <= entry->attr.size && !entry->is_failed) {
		offset += add_part(f, entry, offset);
		if (is_full(f))
			kind = fetch(f, e);
	}
	return kind;
}

static enum err fetch_all(struct fetching *f, struct error *e)
{
	struct copy_list *l = &f->copying->list;
	enum err kind = ERR_OK;

	for (size_t n = 0; kind == ERR_OK && n < l->count; n++)
		if (S_ISREG(l->entries[n].attr.mode))
			kind = fetch_file(f, &l->entries[n], e);
	return kind == ERR_OK ? fetch(f, e) : kind;
}

static uint64_t bytes_max(struct provider *from)
{
	uint64_t most = provider_fetch_max(from);

	return most < FETCH_BYTES_MAX ? most : FETCH_BYTES_MAX;
}

enum err copy_files(struct copying *c, struct error *e)
{
	AUTO_FREE struct fetch_item *items = calloc(FETCH_FILES_MAX, sizeof *items);
	AUTO_FREE struct copy_entry **entries =
		calloc(FETCH_FILES_MAX, sizeof(struct copy_entry *));
	struct fetching f = { .copying = c,
		.items = items,
		.entries = entries,
		.bytes_max = bytes_max(c->copy->from) };

	return items && entries ? fetch_all(&f, e) : copy_no_memory(e);
}
