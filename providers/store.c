#include "providers/store.h"

#include "providers/base/cleanup.h"

#include <stdio.h>

/* One batch: some round trips for a big file, one for a hundred small ones; within the memory of a mount. */
#define BATCH_CHANGES 512
#define BATCH_DATA    ((size_t)4 * VERB_DATA_MAX)

struct batch {
	struct provider *p;
	const struct call *call;
	const struct store_item *items;
	struct store_result *item_results;
	struct change changes[BATCH_CHANGES];
	struct change_result results[BATCH_CHANGES];
	size_t owners[BATCH_CHANGES]; /* the item a change belongs to */
	size_t count;
	unsigned char *data; /* BATCH_DATA bytes */
	size_t data_len;
};

static bool has_failed(const struct batch *b, size_t item)
{
	return b->item_results[item].err != ERR_OK;
}

/* The first failure counts: what follows it was only skipped. */
static void fail_item(struct batch *b, size_t item, enum err kind, const char *why)
{
	struct store_result *result = &b->item_results[item];

	if (result->err)
		return;
	result->err = kind;
	snprintf(result->why, sizeof result->why, "%.*s", (int)sizeof result->why - 1, why);
}

/* Sends what is gathered and shares the results out. */
static enum err send_batch(struct batch *b, struct error *e)
{
	struct apply_request request = { .changes = b->changes, .changes_count = b->count };
	enum err kind = b->count ? provider_apply(b->p, b->call, &request, b->results, e) : ERR_OK;

	for (size_t i = 0; !kind && i < b->count; i++) {
		const struct change_result *result = &b->results[i];

		if (result->err)
			fail_item(b, b->owners[i], result->err, result->why);
		else if (result->has_attr)
			b->item_results[b->owners[i]].attr = result->attr;
	}
	b->count = 0;
	b->data_len = 0;
	return kind;
}

/* Sees that one more change and `data_len` bytes fit. */
static enum err make_room(struct batch *b, size_t data_len, struct error *e)
{
	bool fits = b->count < BATCH_CHANGES && BATCH_DATA - b->data_len >= data_len;

	return fits ? ERR_OK : send_batch(b, e);
}

/* Each of an item's changes needs the one before it, where that is in the same batch. */
static enum err add_change(struct batch *b, size_t item, struct change change, struct error *e)
{
	enum err kind = make_room(b, 0, e);

	if (kind || has_failed(b, item))
		return kind;
	if (b->count && b->owners[b->count - 1] == item)
		change.needs = (uint32_t)b->count;
	change.path = b->items[item].path;
	change.uid = change.gid = CHANGE_NO_OWNER;
	b->owners[b->count] = item;
	b->changes[b->count++] = change;
	return ERR_OK;
}

/* The caller fills the batch's own memory. */
static enum err add_piece(
	struct batch *b, size_t item, uint64_t offset, size_t len, struct error *e)
{
	const struct store_item *source = &b->items[item];
	struct error why = { 0 };
	unsigned char *piece;
	enum err kind = make_room(b, len, e);

	if (kind || has_failed(b, item))
		return kind;
	piece = b->data + b->data_len;
	kind = source->read(source->context, offset, piece, len, &why);
	if (kind) {
		fail_item(b, item, kind, why.text);
		return ERR_OK;
	}
	b->data_len += len;
	return add_change(b, item,
		(struct change){ .op = CHANGE_WRITE,
			.flags = CHANGE_BY_HANDLE,
			.offset = offset,
			.data = piece,
			.data_len = len },
		e);
}

static enum err store_item(struct batch *b, size_t item, struct error *e)
{
	const struct store_item *source = &b->items[item];
	const struct change steps[] = {
		/* Its own mode may forbid writing, or let others read what is not whole yet. */
		{ .op = CHANGE_CREATE, .mode = 0600 },
		{ .op = CHANGE_SETATTR, .flags = CHANGE_BY_HANDLE, .set = SET_SIZE },
		{ .op = CHANGE_SETATTR, .set = SET_MODE, .mode = source->mode },
	};
	enum err kind = add_change(b, item, steps[0], e);

	if (!kind)
		kind = add_change(b, item, steps[1], e);
	for (uint64_t done = 0; !kind && done < source->size && !has_failed(b, item);) {
		uint64_t left = source->size - done;
		size_t len = left < VERB_DATA_MAX ? (size_t)left : VERB_DATA_MAX;

		kind = add_piece(b, item, done, len, e);
		done += len;
	}
	return kind ? kind : add_change(b, item, steps[2], e);
}

enum err store_by_apply(struct provider *p, const struct call *call, const struct store_item *items,
	size_t items_count, struct store_result *results, struct error *e)
{
	AUTO_FREE struct batch *b = calloc(1, sizeof *b);
	AUTO_FREE unsigned char *data = malloc(BATCH_DATA);
	enum err kind = ERR_OK;

	if (!b || !data)
		return error_set(e, ERR_NO_MEMORY, "storing files");
	*b = (struct batch){
		.p = p, .call = call, .items = items, .item_results = results, .data = data
	};
	for (size_t i = 0; i < items_count; i++)
		results[i] = (struct store_result){ 0 };
	for (size_t i = 0; !kind && i < items_count; i++)
		kind = store_item(b, i, e);
	return kind ? kind : send_batch(b, e);
}
