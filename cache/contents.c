#include "cache/contents.h"

#include "cache/lease/hand_out.h"
#include "cache/lease/path_request.h"
#include "cache/lease/retry.h"
#include "cache/metadata.h"
#include "cache/read/fetch.h"
#include "cache/read/prefetch.h"
#include "cache/read/read_ahead.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/local.h"
#include "cache/write/permission.h"
#include "cache/write/remote.h"
#include "cache/write/room.h"
#include "cache/write/writeback.h"

#include <fcntl.h>
#include <stdlib.h>

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
	return remote_change(c, w->call, &w->change, &w->about, &w->result, e);
}

static enum err change_inode(
	struct cache *c, struct inode *i, struct inode_change *w, struct error *e)
{
	enum err kind = writeback_drain(c->writeback, w->call, i, e);

	if (kind)
		return kind;
	read_ahead_drop(c->read_ahead, i);
	w->change.target = tree_expect(c->tree, i);
	w->about = (struct change_about){ .scope.inodes = { i }, .target = i };
	tree_change_begins(c->tree, &w->about.scope);
	kind = cache_with_path(c, i, NULL, ask_inode_change, w, e);

	tree_change_ends(c->tree, &w->about.scope);
	return kind;
}

static enum err set_attr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool by_handle, struct error *e)
{
	struct inode_change w = { .call = call, .change = *what };

	if (tree_set_gone(c->tree, i, what, time_of_day()))
		return ERR_OK;
	w.change.op = CHANGE_SETATTR;
	w.change.flags = by_handle ? CHANGE_BY_HANDLE : 0;
	read_ahead_drop(c->read_ahead, i);
	bool decided = false;
	enum err kind = local_setattr(c, call, i, &w.change, &decided, e);

	/* A file that was made here can be changed without an audit. */
	if (!kind && !decided)
		kind = local_restore(c, call, e);
	if (!kind && !decided)
		kind = local_setattr(c, call, i, &w.change, &decided, e);
	return kind || decided ? kind : change_inode(c, i, &w, e);
}

enum err cache_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool by_handle, struct error *e)
{
	return retry_last_answer(c, call, set_attr(c, call, i, what, by_handle, e), e);
}

static enum err write_now(struct cache *c, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = op,
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
	/*
	 * A program in the sandbox appended first: the end that the kernel has cached is not the
	 * end.
	 */
	if (op == CHANGE_APPEND && w.result.offset != offset)
		cache_tell_inode(c, i, true);
	return ERR_OK;
}

/*
 * Beyond this size the sandbox's file system may say that a file cannot be so large, and the writer
 * should get that error.
 */
#define FOLLOWS_END_MAX ((uint64_t)1 << 40)

/* Whether the write may be acknowledged before the sandbox has it. */
static bool may_follow(
	struct cache *c, struct inode *i, uint64_t offset, size_t len, unsigned flags)
{
	return c->writeback && !(flags & WRITE_THROUGH) && len && len <= VERB_DATA_MAX &&
		offset <= FOLLOWS_END_MAX && !cache_reads_directly(c, i);
}

enum err cache_write(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	const void *bytes, size_t len, unsigned flags, struct error *e)
{
	enum change_op op = flags & WRITE_APPEND ? CHANGE_APPEND : CHANGE_WRITE;

	if (!may_follow(c, i, offset, len, flags))
		return write_now(c, call, i, op, offset, bytes, len, e);
	read_ahead_drop(c->read_ahead, i);
	enum err kind = room_for_write(c, call, i, op, offset, len, e);

	return kind ? kind : writeback_write(c->writeback, call, i, op, offset, bytes, len, e);
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

enum err cache_flush(struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	bool synced;

	if (!c->options.close_waits)
		return writeback_report(c->writeback, i, e);
	return writeback_flush(c->writeback, call, i, false, &synced, e);
}

enum err cache_fsync(struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_SYNC, .flags = CHANGE_BY_HANDLE } };
	bool synced;
	enum err kind = writeback_flush(c->writeback, call, i, true, &synced, e);

	if (kind || tree_is_gone(c->tree, i))
		return kind;
	kind = writeback_drain_paths(c->writeback, call, i, e);
	return kind || synced ? kind : change_inode(c, i, &w, e);
}

/*
 * The source must be complete in the sandbox, and earlier writes to the target must not come after
 * the copy.
 */
static enum err drain_both(struct cache *c, const struct call *call, struct inode *from,
	struct inode *to, struct error *e)
{
	enum err kind = writeback_drain(c->writeback, call, from, e);

	if (!kind)
		kind = writeback_refusal(c->writeback, from, e);
	return kind ? kind : writeback_drain(c->writeback, call, to, e);
}

static enum err copy_now(struct cache *c, const struct call *call, const struct copying *what,
	uint64_t *copied, struct error *e)
{
	struct inode *from = what->from, *to = what->to;
	const struct cache_place one = { from, NULL }, two = { to, NULL };
	struct inode_change w = { .call = call,
		.change = { .op = CHANGE_COPY,
			.flags = CHANGE_BY_HANDLE,
			.target = tree_expect(c->tree, from),
			.target2 = tree_expect(c->tree, to),
			.offset = what->offset,
			.offset2 = what->offset2,
			.length = what->len },
		.about = { .scope.inodes = { to }, .target = to } };

	enum err kind = drain_both(c, call, from, to, e);

	if (kind)
		return kind;
	tree_change_begins(c->tree, &w.about.scope);
	kind = cache_with_paths(c, &one, &two, ask_inode_change, &w, e);

	tree_change_ends(c->tree, &w.about.scope);
	*copied = w.result.count;
	return kind;
}

enum err cache_copy(struct cache *c, const struct call *call, struct inode *from, uint64_t offset,
	struct inode *to, uint64_t offset2, uint64_t len, uint64_t *copied, struct error *e)
{
	const struct copying what = {
		.from = from, .to = to, .offset = offset, .offset2 = offset2, .len = len
	};
	bool decided;

	read_ahead_drop(c->read_ahead, to);
	enum err kind = local_copy(c, call, &what, copied, &decided, e);

	if (!decided)
		kind = copy_now(c, call, &what, copied, e);
	/* The kernel did not see these bytes pass. */
	if (!kind)
		cache_tell_inode(c, to, true);
	return kind;
}

/* ---- Reading ---- */

bool cache_reads_directly(struct cache *c, struct inode *i)
{
	return !tree_size_is_true(c->tree, i);
}

static enum err read_now(struct cache *c, const struct call *call, struct inode *i,
	struct reading *r, size_t *got, struct error *e)
{
	enum err kind = fetch_do(c, call, i, r, e);

	*got = r->got;
	return kind;
}

enum err cache_read(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	void *out, size_t len, size_t *got, struct error *e)
{
	struct reading r = { .item = { .kind = FETCH_BYTES, .offset = offset, .length = len },
		.out = out,
		.room = len,
		.is_made_now = cache_reads_directly(c, i) };
	bool served;

	if (r.is_made_now)
		return read_now(c, call, i, &r, got, e);
	enum err kind = writeback_read(c->writeback, i, offset, out, len, got, &served, e);

	if (kind || served || writeback_read_offline(c->writeback, call, i, offset, out, len, got))
		return kind;
	kind = writeback_drain(c->writeback, call, i, e);
	if (cache_is_offline(kind) &&
		writeback_read_offline(c->writeback, call, i, offset, out, len, got))
		return ERR_OK;
	if (kind || c->read_ahead)
		return kind ? kind
			    : read_ahead_read(c->read_ahead, call, i, offset, out, len, got, e);
	return read_now(c, call, i, &r, got, e);
}

/*
 * A file that has all its blocks has no holes, as far as any program may rely on them: lseek(2)
 * lets a file system show data to the end. The known size must be valid.
 */
static bool has_no_holes(struct cache *c, struct inode *i, uint64_t *size)
{
	struct attr attr;
	bool is_valid = tree_attr(c->tree, i, &attr) > monotonic_ms();

	*size = attr.size;
	return is_valid && attr.blocks * 512 >= attr.size;
}

enum err cache_seek(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	bool hole, uint64_t *out, struct error *e)
{
	struct reading r = { .item = { .kind = hole ? FETCH_SEEK_HOLE : FETCH_SEEK_DATA,
				     .offset = offset } };
	enum err kind = writeback_drain(c->writeback, call, i, e);
	uint64_t size;

	if (!kind && has_no_holes(c, i, &size) && offset < size)
		r.found = hole ? size : offset;
	else if (!kind)
		kind = fetch_do(c, call, i, &r, e);
	*out = r.found;
	return kind;
}

/* ---- Handles ---- */

static bool is_to_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
}

/* Below a read-only root there may be directories that take changes, as /tmp below /. */
static enum err check_changeable(
	struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	struct reading r = { .item = { .kind = FETCH_CHANGEABLE },
		.is_made_now = cache_reads_directly(c, i) };

	return cache_is_read_only(c) ? fetch_do(c, call, i, &r, e) : ERR_OK;
}

static enum err permission_to_open(
	struct cache *c, const struct attr *attr, int flags, struct error *e)
{
	unsigned want = 0;

	if (c->options.owners_from_caller)
		return ERR_OK; /* the kernel here checked the caller against the attributes shown */
	if ((flags & O_ACCMODE) != O_WRONLY)
		want |= PERMISSION_READ;
	if (is_to_write(flags))
		want |= PERMISSION_WRITE;
	if (!permission_allows(&c->sandbox.identity, attr, want))
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

	if (tree_is_unstable(c->tree, i)) {
		if (!retry_found(c, call, i))
			tree_invalidate(c->tree, i);
		read_ahead_drop(c->read_ahead, i);
		prefetch_drop(c->prefetch, i);
	}
	enum err kind = cache_attr(c, call, i, &attr, &valid_ms, e);

	if (!kind && is_to_write(flags))
		kind = check_changeable(c, call, i, e);
	return kind ? kind : permission_to_open(c, &attr, flags, e);
}

/* The file counts as open from the beginning: a removal meanwhile keeps it. */
static enum err open_file(struct cache *c, const struct call *call, struct inode *i, int flags,
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

enum err cache_open(struct cache *c, const struct call *call, struct inode *i, int flags,
	bool *keep_pages, struct error *e)
{
	return retry_last_answer(c, call, open_file(c, call, i, flags, keep_pages, e), e);
}

enum err cache_open_made(struct cache *c, const struct call *call, struct cache_entry *made,
	int flags, struct error *e)
{
	struct inode *i = made->inode;
	enum err kind = tree_open(c->tree, i, e);

	if (kind)
		return kind;
	/* The call was not exclusive, and there was a file that was not known here. */
	if (flags & O_TRUNC && made->attr.size) {
		kind = empty_file(c, call, i, e);
		if (!kind)
			kind = cache_attr(c, call, i, &made->attr, &made->valid_ms, e);
	} else if (flags & (O_EXCL | O_TRUNC) || made->is_made) {
		const struct staging staging = { .is_made = made->is_made,
			.loses_conflict = !(flags & (O_EXCL | O_TRUNC)) };

		writeback_stage(c->writeback, call, i, &staging);
		tree_show(c->tree, i, &made->attr);
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
	writeback_keep_times(c->writeback, i);
	read_ahead_drop(c->read_ahead, i);
	remote_drop_staged(c, i, tree_close(c->tree, i));
	if (!tree_is_open(c->tree, i))
		writeback_release(c->writeback, i);
	tree_unpin(c->tree, i);
}
