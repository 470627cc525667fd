#include "cache/reading.h"

#include "cache/cache_inside.h"

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
	r->seen = tree_seen(c->tree);
	a->err = ERR_OK;
	enum err kind = metered_fetch(&c->metered, a->call, &r->item, 1, take_piece, a, e);

	if (!kind && a->err)
		kind = error_set(e, a->err, "%s: %s", path, error_words(a->err));
	return kind;
}

void reading_learn(struct cache *c, struct inode *i, uint64_t seen, const struct attr *attr)
{
	struct tree_news news = { .attr = *attr, .until_ms = cache_attr_until(c) };
	bool changed = false;

	tree_learn_attr(c->tree, i, seen, &news, &changed, NULL);
	if (changed)
		cache_tell_inode(c, i, true);
}

enum err reading_do(struct cache *c, const struct call *call, struct inode *i, struct reading *r,
	struct error *e)
{
	struct asking a = { .call = call, .reading = r };

	r->item.target = tree_expect(c->tree, i);
	r->item.flags = CHANGE_BY_HANDLE;
	enum err kind = cache_with_path(c, i, NULL, ask_fetch, &a, e);

	if (!kind)
		reading_learn(c, i, r->seen, &r->attr);
	return kind;
}
