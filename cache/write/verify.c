/*
 * Contents that left in a plain batch and were not answered, in an earlier mount or in this one: it
 * is unknown whether they were written. If they were, the file does not have the version that they
 * were based on, and yet no other program changed it. So the file is compared with these contents,
 * and with those that left in parallel. Where one of them is found, the contents for that file are
 * written again, which changes nothing. Where none is found, another program may have written.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The most items of one request. */
#define ITEMS_MAX 256
/*
 * The most requests for one file: enough for all contents of the batches under way, if each request
 * has one change of the largest size.
 */
#define TRIES_MAX (WRITEBACK_SENDERS_MAX * (WRITEBACK_BATCH_MAX / OP_CONTENTS_MAX + 1))

/* Some contents for a file, and whether one of them is there. */
struct comparing {
	struct fetch_item items[ITEMS_MAX];
	const unsigned char *wanted[ITEMS_MAX]; /* the bytes that each item is compared with */
	unsigned char *own; /* contents that are in no batch's memory; or NULL */
	size_t count;
	uint64_t len;  /* the bytes of all items */
	size_t same;   /* bytes of the arriving item that match so far */
	bool is_other; /* the arriving item does not match */
	bool found;
};

/* ---- Asking ---- */

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct comparing *c = context;

	if (piece->item >= c->count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	uint64_t len = c->items[piece->item].length;

	if (piece->kind == FETCH_DONE) {
		c->found |= !piece->err && !c->is_other && c->same == len;
		c->same = 0;
		c->is_other = false;
		/* The other items are not needed. */
		return c->found ? error_set(e, ERR_INTERRUPTED, "it is there") : ERR_OK;
	}
	c->is_other |= piece->len > len - c->same ||
		memcmp(c->wanted[piece->item] + c->same, piece->bytes, piece->len);
	if (!c->is_other)
		c->same += piece->len;
	return ERR_OK;
}

static enum err ask(
	struct writeback *p, const struct call *call, struct comparing *c, struct error *e)
{
	struct error why = { 0 };
	enum err kind =
		counted_fetch(&p->cache->counted, call, c->items, c->count, take_piece, c, &why);

	if (c->found || !cache_is_no_answer(kind))
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

/* ---- Contents in the batch ---- */

static bool is_based(const struct change *c)
{
	return c->version.ctime.tv_sec || c->version.ctime.tv_nsec;
}

static bool takes(const struct writeback *p, const struct comparing *c, const struct change *change)
{
	return c->count < ITEMS_MAX &&
		(!c->count || c->len + change->data_len <= provider_fetch_max(p->cache->provider));
}

static void add(struct comparing *c, const char *path, const struct change *change,
	const unsigned char *wanted)
{
	c->wanted[c->count] = wanted;
	c->items[c->count++] = (struct fetch_item){ .kind = FETCH_BYTES,
		.path = path,
		.target = change->target,
		.offset = change->offset,
		.length = change->data_len,
		.flags = FETCH_NOATIME };
	c->len += change->data_len;
}

/*
 * Any of the contents will do: of two that left in parallel, only one may have arrived. The latest
 * come first, since no other contents lie over them. Contents from `*end` on are compared already.
 */
static void gather(const struct writeback *p, const struct batch *b, const char *path, size_t *end,
	struct comparing *c)
{
	*c = (struct comparing){ 0 };
	for (; *end; --*end) {
		const struct change *change = &b->changes[*end - 1];

		if (!b->ops[*end - 1]->outcome_unknown || strcmp(change->path, path))
			continue;
		if (!takes(p, c, change))
			return;
		add(c, path, change, change->data);
	}
}

/* ---- Contents that left in parallel ---- */

static bool is_in(const struct batch *b, const struct op *q)
{
	for (size_t n = 0; n < b->count; n++)
		if (b->ops[n] == q)
			return true;
	return false;
}

static bool left_parallel(const struct batch *b, const struct op *q, const char *path)
{
	return (q->state == OP_SENT || q->outcome_unknown) && q->change.op == CHANGE_WRITE &&
		op_has_contents(q) && !strcmp(q->change.path, path) && !is_in(b, q);
}

/* Adds the contents, if they can be read from the journal. */
static void add_parallel(
	struct writeback *p, struct comparing *c, const char *path, const struct op *q)
{
	unsigned char *grown = realloc(c->own, c->len + q->change.data_len);

	if (!grown)
		return;
	c->own = grown;
	if (!op_read_contents(q, p->journal, c->own + c->len, NULL))
		add(c, path, &q->change, NULL);
}

/* The latest come first, as in gather(), without the `*passed` that were compared already. */
static void gather_parallel(struct writeback *p, const struct batch *b, const char *path,
	size_t *passed, struct comparing *c)
{
	const struct op *q;
	size_t seen = 0, at = 0;

	*c = (struct comparing){ 0 };
	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH_REVERSE(q, &p->queue, op_list, link)
	{
		if (!left_parallel(b, q, path) || seen++ < *passed)
			continue;
		if (!takes(p, c, &q->change))
			break;
		add_parallel(p, c, path, q);
		++*passed;
	}
	pthread_mutex_unlock(&p->lock);
	for (size_t n = 0; n < c->count; at += c->items[n++].length)
		c->wanted[n] = c->own + at;
}

/* ---- All contents ---- */

static enum err find_one(struct writeback *p, const struct call *call, const struct batch *b,
	const char *path, bool *found, struct error *e)
{
	AUTO_FREE struct comparing *c = malloc(sizeof *c);
	enum err kind = ERR_OK;
	size_t end = b->count, passed = 0, tries = 0;

	*found = false;
	if (!c)
		return error_set(e, ERR_NO_MEMORY, "a batch of changes");
	do {
		gather(p, b, path, &end, c);
		if (!c->count)
			gather_parallel(p, b, path, &passed, c);
		if (c->count)
			kind = ask(p, call, c, e);
		*found = c->found;
		free(c->own);
	} while (c->count && !*found && !kind && ++tries < TRIES_MAX);
	return kind;
}

static enum err find(struct writeback *p, const struct call *call, const struct batch *b, size_t n,
	struct error *e)
{
	struct op *q = b->ops[n];

	if (!q->outcome_unknown || !is_based(&b->changes[n]))
		return ERR_OK;
	return find_one(p, call, b, b->changes[n].path, &q->is_verified, e);
}

enum err batch_find_done(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = 0; n < b->count && !kind; n++) {
		kind = find(p, call, b, n, e);
		if (!kind && b->ops[n]->is_verified)
			b->changes[n].version = (struct version){ 0 };
	}
	return kind;
}

enum err batch_find_late(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = 0; n < b->count && !kind; n++)
		if (b->results[n].err == ERR_CONFLICT)
			kind = find(p, call, b, n, e);
	return kind;
}
