#include "providers/shell.h"

#include "providers/base/path.h"
#include "providers/shell_functions.h"
#include "providers/shell_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Hashes are handed out so many at a time. */
#define HASHES_COUNT 1024

/* A batch being answered. Items come in order. */
struct fetching {
	const struct fetch_item *items;
	size_t items_count;
	fetch_sink sink;
	void *context;
	size_t next;     /* the item that is spoken of */
	bool has_bytes;  /* its bytes have come */
	uint64_t offset; /* in its file: of the next byte */
	/* FETCH_HASHES: computed here, since no tool that is always there knows XXH3. */
	XXH3_state_t state;
	uint64_t hashed; /* bytes of the present block */
	uint64_t hashes_offset;
	size_t hashes_count;
	XXH128_canonical_t hashes[HASHES_COUNT];
};

static const struct fetch_item *present(const struct fetching *f)
{
	return &f->items[f->next];
}

/* ---- What is asked ---- */

static enum err check_item(const struct fetch_item *item)
{
	enum err k = item->path ? path_check(item->path, NULL) : ERR_INVALID;

	if (k != ERR_OK)
		return k;
	if (item->kind < FETCH_BYTES || item->kind > FETCH_SEEK_HOLE || item->offset > INT64_MAX)
		return ERR_INVALID;
	if (item->kind == FETCH_HASHES && (!item->block_size || item->offset % item->block_size))
		return ERR_INVALID;
	return ERR_OK;
}

static bool wants_bytes(const struct fetch_item *item)
{
	return item->kind == FETCH_BYTES || item->kind == FETCH_HASHES;
}

static void ask(struct script *s, const struct fetch_item *item)
{
	buf_add_string(&s->text, " && at");
	script_place(s, item->path);
	buf_add_string(&s->text, " && ");
	if (wants_bytes(item)) {
		uint64_t length = item->length < INT64_MAX ? item->length : INT64_MAX;

		buf_printf(&s->text, "get %" PRIu64 " %" PRIu64 " '%s'", item->offset, length,
			item->flags & CHANGE_BY_HANDLE ? "1" : "");
	} else {
		buf_add_string(&s->text, "look");
	}
	script_expect(s, &item->target);
}

static void add_item(struct script *s, size_t index, const struct fetch_item *item)
{
	buf_printf(&s->text, "begin %zu", index);
	if (check_item(item) == ERR_OK)
		ask(s, item);
	buf_add_string(&s->text, "; told\n");
}

/* ---- What is answered ---- */

static size_t follow(void *context, const char *record)
{
	(void)context;
	switch (record[0]) {
	case 'B': return 1;
	case 'D': return 4;
	default: return SIZE_MAX;
	}
}

static enum err deliver(
	struct fetching *f, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	const struct fetch_piece piece = { .kind = FETCH_DATA,
		.item = (uint32_t)f->next,
		.offset = offset,
		.bytes = bytes,
		.len = len };

	return f->sink(f->context, &piece, e);
}

static enum err deliver_hashes(struct fetching *f, struct error *e)
{
	enum err k = ERR_OK;

	if (f->hashes_count)
		k = deliver(f, f->hashes_offset, f->hashes, f->hashes_count * sizeof *f->hashes, e);
	f->hashes_offset += f->hashes_count * present(f)->block_size;
	f->hashes_count = 0;
	return k;
}

static enum err end_block(struct fetching *f, struct error *e)
{
	XXH128_canonicalFromHash(&f->hashes[f->hashes_count++], XXH3_128bits_digest(&f->state));
	XXH3_128bits_reset(&f->state);
	f->hashed = 0;
	return f->hashes_count == HASHES_COUNT ? deliver_hashes(f, e) : ERR_OK;
}

static enum err hash_bytes(struct fetching *f, const char *bytes, size_t len, struct error *e)
{
	enum err k = ERR_OK;

	while (len && k == ERR_OK) {
		uint64_t room = present(f)->block_size - f->hashed;
		size_t part = len < room ? len : (size_t)room;

		XXH3_128bits_update(&f->state, bytes, part);
		f->hashed += part;
		bytes += part;
		len -= part;
		if (f->hashed == present(f)->block_size)
			k = end_block(f, e);
	}
	return k;
}

static enum err take_bytes(void *context, const void *bytes, size_t len, struct error *e)
{
	struct fetching *f = context;
	const char *at = bytes;
	enum err k = ERR_OK;

	if (present(f)->kind == FETCH_HASHES)
		return hash_bytes(f, bytes, len, e);
	while (len && k == ERR_OK) {
		size_t part = len < VERB_DATA_MAX ? len : VERB_DATA_MAX;

		k = deliver(f, f->offset, at, part, e);
		f->offset += part;
		at += part;
		len -= part;
	}
	return k;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Lifting a mode and putting it back moves ctime; that was us. */
static bool is_unchanged(const struct attr *a, const struct attr *b, bool was_lifted)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
		is_same_time(&a->mtime, &b->mtime) &&
		(was_lifted || is_same_time(&a->ctime, &b->ctime));
}

/* No tool knows holes: the whole file is data and its end the only hole, as lseek(2) allows. */
static enum err find_sought(const struct fetch_item *item, struct fetch_piece *done)
{
	if (item->offset >= done->attr.size)
		return ERR_NO_DATA;
	done->offset = item->kind == FETCH_SEEK_DATA ? item->offset : done->attr.size;
	return ERR_OK;
}

/* D, reason, whether the mode was lifted, attributes before and after */
static enum err judge_done(const struct fetch_item *item, char **records, struct fetch_piece *done)
{
	struct attr before;
	enum err k = check_item(item);

	if (k != ERR_OK)
		return k;
	k = script_reason(records[1], done->why, sizeof done->why);
	if (k != ERR_OK)
		return k;
	if (!script_attr(records[3], &before) || !script_attr(records[4], &done->attr))
		return ERR_PROTOCOL;
	if (!is_unchanged(&before, &done->attr, records[2][0]))
		return ERR_STALE;
	return wants_bytes(item) ? ERR_OK : find_sought(item, done);
}

static enum err finish_item(struct fetching *f, char **records, struct error *e)
{
	struct fetch_piece done = { .kind = FETCH_DONE, .item = (uint32_t)f->next };
	enum err k = ERR_OK;

	if (f->hashed)
		k = end_block(f, e);
	if (k == ERR_OK)
		k = deliver_hashes(f, e);
	if (k != ERR_OK)
		return k;
	done.err = judge_done(present(f), records, &done);
	if (done.err != ERR_OK && !done.why[0])
		snprintf(done.why, sizeof done.why, "%s", error_words(done.err));
	f->next++;
	f->has_bytes = false;
	return f->sink(f->context, &done, e);
}

static void begin_bytes(struct fetching *f)
{
	f->offset = f->hashes_offset = present(f)->offset;
	f->has_bytes = true;
	f->hashed = 0;
	f->hashes_count = 0;
	XXH3_128bits_reset(&f->state);
}

static enum err message(void *context, char **records, size_t count, uint64_t *raw, struct error *e)
{
	struct fetching *f = context;

	(void)count;
	if (f->next == f->items_count || strtoull(records[0] + 1, NULL, 10) != f->next)
		return error_set(e, ERR_PROTOCOL, "an answer to no question");
	if (records[0][0] == 'D')
		return finish_item(f, records, e);
	*raw = strtoull(records[1], NULL, 10);
	if (f->has_bytes || !wants_bytes(present(f)) || *raw > present(f)->length)
		return error_set(e, ERR_PROTOCOL, "%s bytes nobody asked for", records[1]);
	begin_bytes(f);
	return ERR_OK;
}

enum err shell_fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e)
{
	struct fetching f = {
		.items = items, .items_count = items_count, .sink = sink, .context = context
	};
	const struct script_reader reader = {
		.follow = follow, .message = message, .bytes = take_bytes, .context = &f
	};
	AUTO_SCRIPT struct script s;
	enum err k;

	XXH3_128bits_reset(&f.state);
	script_init(&s, p, shell_fetch_functions);
	for (size_t i = 0; i < items_count; i++)
		add_item(&s, i, &items[i]);
	k = script_run(&s, p, call, &reader, e);
	if (k == ERR_OK && f.next != items_count)
		return error_set(e, ERR_PROTOCOL, "%zu of %zu items answered", f.next, items_count);
	return k;
}
