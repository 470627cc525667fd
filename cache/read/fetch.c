#include "cache/read/fetch.h"

#include "cache/blocks/block_store.h"
#include "cache/lease/path_request.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/path.h"

#include <string.h>

struct asking {
	const struct call *call;
	struct reading *reading;
	enum err err;
};

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct asking *a = context;
	struct reading *r = a->reading;

	if (piece->kind == FETCH_DONE) {
		a->err = piece->err;
		r->found = piece->offset;
		r->attr = piece->attr;
		return ERR_OK;
	}
	if (piece->len > r->room - r->got)
		return error_set(e, ERR_PROTOCOL, "more bytes than were asked for");
	memcpy(r->out + r->got, piece->bytes, piece->len);
	r->got += piece->len;
	return ERR_OK;
}

static enum err ask_fetch(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct asking *a = context;
	struct reading *r = a->reading;

	r->item.path = path;
	r->got = 0;
	r->asked = asked_now(c);
	a->err = ERR_OK;
	enum err kind = counted_fetch(&c->counted, a->call, &r->item, 1, take_piece, a, e);

	if (!kind && a->err)
		kind = error_set(e, a->err, "%s: %s", path, error_words(a->err));
	if (!kind && r->item.kind == FETCH_BYTES && !r->is_made_now)
		fetch_keep(c, path, &r->asked, &r->attr, r->item.offset, r->out, r->got);
	return kind;
}

struct asked asked_now(struct cache *c)
{
	return (struct asked){ .seen = tree_seen(c->tree), .clock = cache_clock(c) };
}

void fetch_learn(
	struct cache *c, struct inode *i, const struct asked *asked, const struct attr *attr)
{
	struct tree_news news = {
		.attr = *attr, .until_ms = cache_attr_until(c), .now = asked->clock
	};
	bool changed = false;

	tree_learn_attr(c->tree, i, asked->seen, &news, &changed, NULL);
	if (changed)
		cache_tell_inode(c, i, true);
}

enum err fetch_do(struct cache *c, const struct call *call, struct inode *i, struct reading *r,
	struct error *e)
{
	struct asking a = { .call = call, .reading = r };

	/* Where each read makes the contents anew, inode numbers are new, too. */
	if (!r->is_made_now)
		r->item.target = tree_expect(c->tree, i);
	r->item.flags = CHANGE_BY_HANDLE | (call && call->no_atime ? FETCH_NOATIME : 0);
	enum err kind = cache_with_path(c, i, NULL, ask_fetch, &a, e);

	if (!kind)
		fetch_learn(c, i, &r->asked, &r->attr);
	return kind;
}

/* ---- Contents that are kept ---- */

void fetch_keep(struct cache *c, const char *path, const struct asked *asked,
	const struct attr *attr, uint64_t offset, const void *bytes, size_t len)
{
	if (!tree_stable_at(attr, asked->clock))
		return;
	block_store_keep(c->block_store, attr, offset, bytes, len);
	if (!offset)
		block_store_note_name(c->block_store, path_name(path), attr->size);
}

bool fetch_version(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	struct attr *out)
{
	struct attr shown;
	int64_t valid_ms, now_ms = monotonic_ms();

	if (!c->block_store)
		return false;
	if (tree_version(c->tree, i, now_ms, out))
		return true;
	/*
	 * The attributes of this moment are right for this read, also where they are valid no
	 * longer than that.
	 */
	return block_store_has_at(c->block_store, out, offset) &&
		!c->upcalls.attr(c, call, i, &shown, &valid_ms, NULL) &&
		tree_version(c->tree, i, now_ms - 1, out);
}
