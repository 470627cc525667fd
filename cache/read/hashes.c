#include "cache/read/hashes.h"

#include "cache/blocks/block_store.h"
#include "cache/lease/path_request.h"
#include "cache/read/fetch.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <string.h>

/* For files up to 1 GiB: the bytes beyond are fetched. */
#define NAMES_MAX 8192

struct hashing {
	struct cache *cache;
	const struct fetch_item *items;
	size_t count;
	struct asked asked;
	hashes_sink sink;
	void *context;
	size_t names_count; /* names of the item that arrives */
	struct block_name names[NAMES_MAX];
};

bool hashes_may_help(struct cache *c, const char *path, uint64_t size)
{
	return block_store_may_have(c->block_store, path_name(path), size);
}

static enum err add_names(struct hashing *h, const struct fetch_piece *piece, struct error *e)
{
	size_t count = piece->len / sizeof *h->names;

	if (piece->offset != h->names_count * BLOCK_SIZE || piece->len % sizeof *h->names ||
		count > NAMES_MAX - h->names_count)
		return error_set(e, ERR_PROTOCOL, "other hashes than were asked for");
	memcpy(h->names + h->names_count, piece->bytes, piece->len);
	h->names_count += count;
	return ERR_OK;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct hashing *h = context;

	if (piece->item >= h->count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	if (piece->kind == FETCH_DATA)
		return add_names(h, piece, e);
	if (!piece->err && tree_stable_at(&piece->attr, h->asked.clock)) {
		block_store_adopt(h->cache->block_store, &piece->attr, 0, h->names, h->names_count);
		h->sink(h->context, piece->item, &piece->attr);
	}
	h->names_count = 0;
	return ERR_OK;
}

enum err hashes_adopt(struct cache *c, const struct call *call, struct fetch_item *items,
	size_t count, hashes_sink sink, void *context, struct error *e)
{
	AUTO_FREE struct hashing *h = calloc(1, sizeof *h);

	if (!h)
		return error_set(e, ERR_NO_MEMORY, "hashes");
	h->cache = c;
	h->items = items;
	h->count = count;
	h->asked = asked_now(c);
	h->sink = sink;
	h->context = context;
	for (size_t n = 0; n < count; n++) {
		items[n].kind = FETCH_HASHES;
		items[n].offset = 0;
		items[n].length = NAMES_MAX * BLOCK_SIZE;
		items[n].block_size = BLOCK_SIZE;
	}
	return counted_fetch(&c->counted, call, items, count, take_piece, h, e);
}

/* ---- One file ---- */

struct hashing_one {
	const struct call *call;
	struct inode *inode;
	uint64_t size;
	bool is_adopted;
};

static void note_adopted(void *context, size_t item, const struct attr *version)
{
	(void)item, (void)version;
	*(bool *)context = true;
}

static enum err ask_hashes(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct hashing_one *h = context;
	struct fetch_item item = { .path = path,
		.target = tree_expect(c->tree, h->inode),
		.flags = CHANGE_BY_HANDLE | FETCH_NOATIME };

	if (!hashes_may_help(c, path, h->size))
		return ERR_OK;
	return hashes_adopt(c, h->call, &item, 1, note_adopted, &h->is_adopted, e);
}

bool hashes_adopt_one(
	struct cache *c, const struct call *call, struct inode *i, const struct attr *version)
{
	struct hashing_one h = { .call = call, .inode = i, .size = version->size };

	return !cache_with_path(c, i, NULL, ask_hashes, &h, NULL) && h.is_adopted;
}
