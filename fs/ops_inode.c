/* Operations on one inode: its attributes and their changes. */
#include "fs/audited.h"
#include "fs/fs.h"
#include "fs/request.h"
#include "fs/setgid.h"
#include "fs/links.h"

#include "cache/contents.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct fuse_entry_param param = { 0 };
	struct cache_entry entry;
	struct error e = { 0 };
	int64_t negative_ms;

	if (control_owns(parent)) {
		control_lookup(fs->control, req, parent, name);
		return;
	}
	if (fs_is_control_name(parent, name)) {
		control_entry(fs->control, &param);
		fuse_reply_entry(req, &param);
		return;
	}
	request_begin(&r, req);
	switch (cache_lookup(
		fs->cache, &r.call, fs_inode(fs, parent), name, &entry, &negative_ms, &e)) {
	case ERR_OK: fs_reply_entry(request_end(&r), fs, &entry); break;
	case ERR_NOT_FOUND:
		param.entry_timeout = fs_seconds(negative_ms); /* number 0: a negative entry */
		fuse_reply_entry(request_end(&r), &param);
		break;
	default: fs_reply(request_end(&r), &e);
	}
}

static void forget(const struct fs *fs, fuse_ino_t ino, uint64_t count)
{
	if (ino != FUSE_ROOT_ID && !control_owns(ino))
		fs_forget(fs, ino, count);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	forget(fuse_req_userdata(req), ino, count);
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t n = 0; n < count; n++)
		forget(fuse_req_userdata(req), forgets[n].ino, forgets[n].nlookup);
	fuse_reply_none(req);
}

static void reply_attr(fuse_req_t req, const struct fs *fs, fuse_ino_t ino, const struct attr *attr,
	int64_t valid_ms)
{
	struct stat st;

	fs_stat(fs, fs_inode(fs, ino), link_node_of(ino), attr, &st);
	fuse_reply_attr(req, &st, fs_attr_seconds(attr, valid_ms));
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	struct attr attr;
	int64_t valid_ms;

	(void)fi;
	if (control_owns(ino)) {
		control_getattr(fs->control, req, ino);
		return;
	}
	struct inode *i = fs_inode(fs, ino);
	uint64_t seen = cache_seen(fs->cache);

	request_begin(&r, req);
	enum err kind = cache_delegate_attr(fs->cache, &r.call, i, &attr, &valid_ms, &e);

	/*
	 * The kernel asks for its own sake, too: whether a program may take the next step of a
	 * path. A program that climbs by a link's text must not take that step from a place where a
	 * rename has put the directory meanwhile, however long the sandbox delayed this answer.
	 * ESTALE makes the kernel begin the path anew.
	 */
	if (!kind && S_ISDIR(attr.mode) && cache_has_risen(fs->cache, i, seen))
		kind = error_set(&e, ERR_STALE, "a directory that was moved up");
	if (kind)
		fs_reply(request_end(&r), &e);
	else
		reply_attr(request_end(&r), fs, ino, &attr, valid_ms);
}

static struct timespec wanted_time(int to_set, int now_bit, struct timespec given)
{
	if (to_set & now_bit)
		given.tv_nsec = UTIME_NOW;
	return given;
}

static struct change wanted_change(const struct fs *fs, const struct stat *st, int to_set)
{
	static const struct {
		int fuse;
		uint32_t set;
	} bits[] = {
		{ FUSE_SET_ATTR_MODE, SET_MODE },
		{ FUSE_SET_ATTR_UID, SET_UID },
		{ FUSE_SET_ATTR_GID, SET_GID },
		{ FUSE_SET_ATTR_SIZE, SET_SIZE },
		{ FUSE_SET_ATTR_ATIME, SET_ATIME },
		{ FUSE_SET_ATTR_MTIME, SET_MTIME },
	};
	struct change change = { .mode = st->st_mode & 07777,
		.uid = fs_uid_inwards(fs, st->st_uid),
		.gid = fs_gid_inwards(fs, st->st_gid),
		.size = (uint64_t)st->st_size,
		.atime = wanted_time(to_set, FUSE_SET_ATTR_ATIME_NOW, st->st_atim),
		.mtime = wanted_time(to_set, FUSE_SET_ATTR_MTIME_NOW, st->st_mtim) };

	for (size_t n = 0; n < sizeof bits / sizeof bits[0]; n++)
		if (to_set & bits[n].fuse)
			change.set |= bits[n].set;
	return change;
}

/*
 * The request came through a handle, or from the open that begins one. In both cases the mode was
 * checked at the open.
 */
static bool is_by_handle(const struct fs *fs, fuse_req_t req, fuse_ino_t ino,
	const struct change *change, const struct fuse_file_info *fi)
{
	bool empties = change->set & SET_SIZE && !change->size;

	return fi || (empties && openings_take(fs->openings, fuse_req_ctx(req)->pid, ino));
}

void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	struct attr attr;
	int64_t valid_ms;

	if (control_owns(ino)) {
		control_setattr(fs->control, req, ino, to_set);
		return;
	}
	struct inode *i = fs_inode(fs, ino);
	struct change change = wanted_change(fs, st, to_set);
	bool by_handle = is_by_handle(fs, req, ino, &change, fi);

	request_begin(&r, req);
	if (change.set & (SET_SIZE | SET_UID | SET_GID))
		setgid_drop_with(fs, req, i, &change);
	/*
	 * The attributes must be the sandbox's: the kernel takes this answer whatever notices it
	 * got meanwhile.
	 */
	if (cache_setattr(fs->cache, &r.call, i, &change, by_handle, &e) ||
		cache_attr(fs->cache, &r.call, i, &attr, &valid_ms, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	audited_inode(fs, req, change.set & SET_SIZE ? "truncate" : "setattr", i);
	reply_attr(request_end(&r), fs, ino, &attr, valid_ms);
}

/* The longest wait for a rename. The rename is answered as soon as the tree shows it. */
#define RENAME_WAIT_MS 5000
#define LOOK_MS        5

/*
 * While a rename moves the directory, the text of a link in it must stay inside the mount from the
 * old place and from the new one. Otherwise the reader waits until the kernel has moved the
 * directory. A text that climbs more than once could leave the mount from a directory that is moved
 * up: the answer to such a rename waits for the readers.
 */
static void be_sure_of_depth(const struct fs *fs, struct link_shown *shown)
{
	int64_t end_ms = monotonic_ms() + RENAME_WAIT_MS;
	bool climbs = !shown->is_raw && !links_is_contained(shown->text, 1);

	if (climbs)
		cache_climbs(fs->cache);
	for (;;) {
		struct tree_depth at = cache_depth_in(fs->cache, shown->dir);
		bool is_over = monotonic_ms() >= end_ms;

		shown->depth = at.settles_ms ? at.least : at.depth;
		if (!at.settles_ms || links_is_contained(shown->text, at.least) || is_over)
			break;
		call_sleep(NULL, at.settles_ms < LOOK_MS ? at.settles_ms : LOOK_MS, NULL);
	}
	if (climbs)
		cache_climbs(fs->cache);
}

static enum err shown_text(const struct fs *fs, const struct call *call, fuse_ino_t ino,
	char out[LINKS_TEXT_MAX], struct error *e)
{
	const struct link_node *node = link_node_of(ino);
	char text[VERB_LINK_MAX + 1];
	bool is_ours;

	if (!node)
		return error_set(e, ERR_INVALID, "not a symbolic link");
	enum err kind = cache_readlink(fs->cache, call, link_node_inode(node), text, &is_ours, e);

	if (kind)
		return kind;
	struct link_shown shown = fs_link_shown(fs, node, text, is_ours);

	if (!shown.is_raw && !shown.is_moved)
		be_sure_of_depth(fs, &shown);
	return fs_link_text(fs, &shown, out, e);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	char text[LINKS_TEXT_MAX];
	struct error e = { 0 };

	if (control_owns(ino)) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	request_begin(&r, req);
	if (shown_text(fs, &r.call, ino, text, &e))
		fs_reply(request_end(&r), &e);
	else
		fuse_reply_readlink(request_end(&r), text);
}

/*
 * The kernel checks the mode bits (default_permissions) and asks only in cases that it cannot
 * decide.
 */
void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	(void)ino;
	(void)mask;
	fuse_reply_err(req, 0);
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct fs *fs = fuse_req_userdata(req);
	struct space space;
	struct statvfs st;

	(void)ino;
	cache_space(fs->cache, &space);
	st = (struct statvfs){ .f_bsize = space.block_size,
		.f_frsize = space.block_size,
		.f_blocks = space.blocks,
		.f_bfree = space.free,
		.f_bavail = space.available,
		.f_files = space.files,
		.f_ffree = space.files_free,
		.f_favail = space.files_free,
		.f_namemax = space.name_max ? space.name_max : 255 };
	fuse_reply_statfs(req, &st);
}
