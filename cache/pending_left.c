/*
 * Contents that were sent without a number and not answered, by an earlier mount or by this one: nobody knows whether they
 * were done. If they were, the file is not what they were based on, and yet nobody else was at it. So what is there is held
 * against them: where one of them is found, those of that file are done again, which changes nothing; where none is,
 * somebody else may have written.
 */
#include "cache/pending_inside.h"

#include "cache/cache_inside.h"
#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* So many are asked for in one call; and no more than so many in all: they are small then. */
#define ITEMS_MAX 256
#define TRIES_MAX 8

/* Some of those of a file, and whether one is there. */
struct comparing {
	const struct change *changes[ITEMS_MAX];
	struct fetch_item items[ITEMS_MAX];
	size_t count;
	uint64_t len;  /* of them all */
	size_t same;   /* bytes of the one that is being told */
	bool is_other; /* it is not there */
	bool found;
};

/* ---- Asking ---- */

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct comparing *c = context;

	if (piece->item >= c->count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	const struct change *change = c->changes[piece->item];

	if (piece->kind == FETCH_DONE) {
		c->found |= !piece->err && !c->is_other && c->same == change->data_len;
		c->same = 0;
		c->is_other = false;
		/* The rest need not be told. */
		return c->found ? error_set(e, ERR_INTERRUPTED, "it is there") : ERR_OK;
	}
	c->is_other |= piece->len > change->data_len - c->same ||
		memcmp((const char *)change->data + c->same, piece->bytes, piece->len);
	if (!c->is_other)
		c->same += piece->len;
	return ERR_OK;
}

static enum err ask(
	struct pending *p, const struct call *call, struct comparing *c, struct error *e)
{
	struct error why = { 0 };
	enum err kind =
		metered_fetch(&p->cache->metered, call, c->items, c->count, take_piece, c, &why);

	if (c->found || !cache_is_no_answer(kind))
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

/* ---- Those of a file ---- */

static bool is_based(const struct change *c)
{
	return c->version.ctime.tv_sec || c->version.ctime.tv_nsec;
}

static bool takes(const struct pending *p, const struct comparing *c, const struct change *change)
{
	return c->count < ITEMS_MAX &&
		(!c->count || c->len + change->data_len <= provider_fetch_max(p->cache->provider));
}

static void add(struct comparing *c, const struct change *change)
{
	c->changes[c->count] = change;
	c->items[c->count++] = (struct fetch_item){ .kind = FETCH_BYTES,
		.path = change->path,
		.target = change->target,
		.offset = change->offset,
		.length = change->data_len };
	c->len += change->data_len;
}

/*
 * Any will do, for of two that went beside each other one may have arrived; the latest first, which none lies over. Those
 * before `*end`, which is how far it got.
 */
static void gather(const struct pending *p, const struct batch *b, const char *path, size_t *end,
	struct comparing *c)
{
	*c = (struct comparing){ 0 };
	for (; *end; --*end) {
		const struct change *change = &b->changes[*end - 1];

		if (!b->queued[*end - 1]->may_be_done || strcmp(change->path, path))
			continue;
		if (!takes(p, c, change))
			return;
		add(c, change);
	}
}

static enum err find_one(struct pending *p, const struct call *call, const struct batch *b,
	const char *path, bool *found, struct error *e)
{
	AUTO_FREE struct comparing *c = malloc(sizeof *c);
	enum err kind = ERR_OK;
	size_t end = b->count;

	*found = false;
	if (!c)
		return error_set(e, ERR_NO_MEMORY, "a batch of changes");
	for (int tries = 0; tries < TRIES_MAX && end && !*found && !kind; tries++) {
		gather(p, b, path, &end, c);
		if (c->count)
			kind = ask(p, call, c, e);
		*found = c->found;
	}
	return kind;
}

enum err batch_find_done(
	struct pending *p, const struct call *call, struct batch *b, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = 0; n < b->count && !kind; n++) {
		struct change *c = &b->changes[n];
		bool found;

		if (!b->queued[n]->may_be_done || !is_based(c))
			continue;
		kind = find_one(p, call, b, c->path, &found, e);
		if (!kind && found)
			c->version = (struct version){ 0 };
	}
	return kind;
}
