#include "cache/contents.h"
#include "cache/cache_inside.h"
#include "cache/changes.h"
#include "cache/judge.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* ---- Changes of one inode ---- */

struct inode_change {
	const struct call *call;
	struct change change;
	struct change_about about;
	struct change_result result;
};

static enum err ask_inode_change(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	struct inode_change *w = context;

	w->change.path = path;
	w->change.path2 = path2;
	return changes_do(c, w->call, &w->change, &w->about, &w->result, e);
}

static enum err change_inode(
	struct cache *c, struct inode *i, struct inode_change *w, struct error *e)
{
	w->change.target = tree_expect(c->tree, i);
	w->about = (struct change_about){ .scope.inodes = { i }, .target = i };
	tree_change_begins(c->tree, &w->about.scope);
	enum err kind = cache_with_path(c, i, NULL, ask_inode_change, w, e);

	tree_change_ends(c->tree, &w->about.scope);
	return kind;
}

enum err cache_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool by_handle, struct error *e)
{
	struct inode_change w = { .call = call, .change = *what };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (tree_set_gone(c->tree, i, what, now))
		return ERR_OK;
	w.change.op = CHANGE_SETATTR;
	w.change.flags = by_handle ? CHANGE_BY_HANDLE : 0;
	return change_inode(c, i, &w, e);
}

enum err cache_write(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	const void *bytes, size_t len, bool append, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = append ? CHANGE_APPEND : CHANGE_WRITE,
			.flags = CHANGE_BY_HANDLE,
			.offset = offset,
			.data = bytes,
			.data_len = len } };
	enum err kind = change_inode(c, i, &w, e);

	if (kind)
		return kind;
	if (w.result.count != len)
		return error_set(e, ERR_NO_SPACE, "%llu of %zu bytes written",
			(unsigned long long)w.result.count, len);
	/* Somebody in the sandbox appended before us: what the kernel has cached of the end is not the end. */
	if (append && w.result.offset != offset)
		cache_tell_inode(c, i, true);
	return ERR_OK;
}

enum err cache_fallocate(struct cache *c, const struct call *call, struct inode *i, int mode,
	uint64_t offset, uint64_t len, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_FALLOCATE,
			.flags = CHANGE_BY_HANDLE,
			.mode = (uint32_t)mode,
			.offset = offset,
			.length = len } };

	return change_inode(c, i, &w, e);
}

enum err cache_setxattr(struct cache *c, const struct call *call, struct inode *i, const char *name,
	const void *value, size_t len, uint32_t flags, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_SETXATTR,
			.flags = flags,
			.name = name,
			.data = value,
			.data_len = len } };

	return change_inode(c, i, &w, e);
}

enum err cache_removexattr(struct cache *c, const struct call *call, struct inode *i,
	const char *name, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_REMOVEXATTR, .name = name } };

	return change_inode(c, i, &w, e);
}

enum err cache_fsync(struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_SYNC, .flags = CHANGE_BY_HANDLE } };

	if (tree_is_gone(c->tree, i))
		return ERR_OK;
	return change_inode(c, i, &w, e);
}

enum err cache_copy(struct cache *c, const struct call *call, struct inode *from, uint64_t offset,
	struct inode *to, uint64_t offset2, uint64_t len, uint64_t *copied, struct error *e)
{
	const struct cache_place one = { from, NULL }, two = { to, NULL };
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_COPY,
			.flags = CHANGE_BY_HANDLE,
			.target = tree_expect(c->tree, from),
			.target2 = tree_expect(c->tree, to),
			.offset = offset,
			.offset2 = offset2,
			.length = len },
		.about = { .scope.inodes = { to }, .target = to } };

	tree_change_begins(c->tree, &w.about.scope);
	enum err kind = cache_with_paths(c, &one, &two, ask_inode_change, &w, e);

	tree_change_ends(c->tree, &w.about.scope);
	if (!kind) {
		*copied = w.result.count;
		/* The kernel did not see these bytes pass. */
		cache_tell_inode(c, to, true);
	}
	return kind;
}

/* ---- Reading ---- */

struct reading {
	const struct call *call;
	struct fetch_item item;
	unsigned char *out;
	size_t room, got;
	enum err err;
	uint64_t found;
	struct attr attr;
};

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct reading *r = context;

	if (piece->kind == FETCH_DONE) {
		r->err = piece->err;
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
	struct reading *r = context;
	enum err kind;

	r->item.path = path;
	r->got = 0;
	r->err = ERR_OK;
	kind = provider_fetch(c->provider, r->call, &r->item, 1, take_piece, r, e);
	if (!kind && r->err)
		kind = error_set(e, r->err, "%s: %s", path, error_words(r->err));
	return kind;
}

/* Fetches and, since the answer carries them, learns the attributes. */
static enum err fetch(struct cache *c, struct inode *i, struct reading *r, struct error *e)
{
	uint64_t seen = tree_seen(c->tree);
	struct tree_news news = { .until_ms = cache_attr_until(c) };
	bool changed = false;
	enum err kind;

	r->item.target = tree_expect(c->tree, i);
	r->item.flags = CHANGE_BY_HANDLE;
	kind = cache_with_path(c, i, NULL, ask_fetch, r, e);
	if (kind)
		return kind;
	news.attr = r->attr;
	tree_learn_attr(c->tree, i, seen, &news, &changed, NULL);
	if (changed)
		cache_tell_inode(c, i, true);
	return ERR_OK;
}

enum err cache_read(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	void *out, size_t len, size_t *got, struct error *e)
{
	struct reading r = { .call = call,
		.item = { .kind = FETCH_BYTES, .offset = offset, .length = len },
		.out = out,
		.room = len };
	enum err kind = fetch(c, i, &r, e);

	*got = r.got;
	return kind;
}

enum err cache_seek(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	bool hole, uint64_t *out, struct error *e)
{
	struct reading r = { .call = call,
		.item = { .kind = hole ? FETCH_SEEK_HOLE : FETCH_SEEK_DATA, .offset = offset } };
	enum err kind = fetch(c, i, &r, e);

	*out = r.found;
	return kind;
}

/* ---- Handles ---- */

static enum err judge_open(struct cache *c, const struct attr *attr, int flags, struct error *e)
{
	unsigned want = 0;

	if (c->options.owners_from_caller)
		return ERR_OK; /* the kernel here judged the caller by what is shown, which is what is */
	if ((flags & O_ACCMODE) != O_WRONLY)
		want |= JUDGE_READ;
	if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC)
		want |= JUDGE_WRITE;
	if (!judge_allows(&c->sandbox.identity, attr, want))
		return error_set(e, ERR_DENIED, "the sandbox's user may not open this");
	return ERR_OK;
}

static enum err empty_file(
	struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	static const struct change nothing = { .set = SET_SIZE };

	return cache_setattr(c, call, i, &nothing, true, e);
}

static enum err check_open(
	struct cache *c, const struct call *call, struct inode *i, int flags, struct error *e)
{
	struct attr attr;
	int64_t valid_ms;

	if (tree_unsettled(c->tree, i))
		tree_doubt(c->tree, i);
	enum err kind = cache_attr(c, call, i, &attr, &valid_ms, e);

	return kind ? kind : judge_open(c, &attr, flags, e);
}

/* It counts as open from the beginning: a removal meanwhile keeps the file. */
enum err cache_open(struct cache *c, const struct call *call, struct inode *i, int flags,
	bool *keep_pages, struct error *e)
{
	enum err kind = tree_open(c->tree, i, e);

	*keep_pages = false;
	if (kind)
		return kind;
	kind = check_open(c, call, i, flags, e);
	if (!kind && flags & O_TRUNC)
		kind = empty_file(c, call, i, e);
	if (kind)
		cache_close(c, i);
	else
		*keep_pages = tree_pages_current(c->tree, i);
	return kind;
}

enum err cache_open_made(struct cache *c, const struct call *call, struct cache_entry *made,
	int flags, struct error *e)
{
	struct inode *i = made->inode;
	enum err kind = tree_open(c->tree, i, e);

	if (kind)
		return kind;
	/* Not exclusive, and there was one that we did not know of. */
	if (flags & O_TRUNC && made->attr.size) {
		kind = empty_file(c, call, i, e);
		if (!kind)
			kind = cache_attr(c, call, i, &made->attr, &made->valid_ms, e);
	}
	if (kind)
		cache_close(c, i);
	else
		tree_pages_current(c->tree, i);
	return kind;
}

void cache_close(struct cache *c, struct inode *i)
{
	tree_pin(c->tree, i);
	changes_drop_staged(c, i, tree_close(c->tree, i));
	tree_unpin(c->tree, i);
}
