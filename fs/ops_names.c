/* Operations that make, link, rename and remove names. */
#include "fs/audited.h"
#include "fs/fs.h"
#include "fs/request.h"

#include "cache/names.h"
#include "providers/base/cleanup.h"
#include "providers/change_words.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Nothing can be made or removed in the control directory, nor the directory itself. */
static bool is_controls(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!control_owns(parent) && !fs_is_control_name(parent, name))
		return false;
	fuse_reply_err(req, EPERM);
	return true;
}

static void make(fuse_req_t req, fuse_ino_t parent, const char *name, struct create_args *making)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct cache_entry entry;
	struct error e = { 0 };

	if (is_controls(req, parent, name))
		return;
	making->uid = who->uid;
	making->gid = who->gid;
	request_begin(&r, req);
	struct inode *dir = fs_inode(fs, parent);

	if (cache_make(fs->cache, &r.call, dir, name, making, &entry, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	audited_name(fs, req, change_word(making->op), dir, name);
	fs_reply_entry(request_end(&r), fs, &entry);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct create_args node = { .op = CHANGE_MKNOD, .mode = mode, .rdev = rdev };
	struct create_args file = { .op = CHANGE_CREATE, .mode = mode & 07777, .exclusive = true };

	make(req, parent, name, S_ISREG(mode) ? &file : &node);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct create_args making = { .op = CHANGE_MKDIR, .mode = mode & 07777 };

	make(req, parent, name, &making);
}

void op_symlink(fuse_req_t req, const char *text, fuse_ino_t parent, const char *name)
{
	struct create_args making = { .op = CHANGE_SYMLINK, .text = text };

	make(req, parent, name, &making);
}

static void revoke_attr(void *context, fuse_ino_t ino)
{
	notifier_inode(context, ino, false);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct cache_entry entry;
	struct error e = { 0 };

	if (control_owns(ino)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	if (is_controls(req, parent, name))
		return;
	request_begin(&r, req);
	struct inode *i = fs_inode(fs, ino), *dir = fs_inode(fs, parent);
	AUTO_FREE char *path = audited_path(fs, i);

	if (cache_link(fs->cache, &r.call, i, dir, name, &entry, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	/*
	 * The kernel counts one link more only of the node in the reply. A new name of a symbolic
	 * link is another node than the ones before.
	 */
	audited_link(fs, req, path, dir, name);
	link_nodes_each(fs->links, i, revoke_attr, fs->revoker);
	fs_reply_entry(request_end(&r), fs, &entry);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (is_controls(req, parent, name))
		return;
	request_begin(&r, req);
	struct inode *dir = fs_inode(fs, parent);

	if (!cache_unlink(fs->cache, &r.call, dir, name, &e))
		audited_name(fs, req, "unlink", dir, name);
	fs_reply(request_end(&r), &e);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (control_owns(parent)) {
		control_rmdir(fs->control, req, parent, name);
		return;
	}
	if (is_controls(req, parent, name))
		return;
	request_begin(&r, req);
	struct inode *dir = fs_inode(fs, parent);

	if (!cache_rmdir(fs->cache, &r.call, dir, name, &e))
		audited_name(fs, req, "rmdir", dir, name);
	fs_reply(request_end(&r), &e);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t parent2,
	const char *name2, unsigned flags)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	uint32_t wanted = 0;

	if (is_controls(req, parent, name) || is_controls(req, parent2, name2))
		return;
	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE)) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (flags & RENAME_NOREPLACE)
		wanted |= CHANGE_NOREPLACE;
	if (flags & RENAME_EXCHANGE)
		wanted |= CHANGE_EXCHANGE;
	struct inode *dir = fs_inode(fs, parent), *dir2 = fs_inode(fs, parent2);

	request_begin(&r, req);
	if (!cache_rename(fs->cache, &r.call, dir, name, dir2, name2, wanted, &e)) {
		link_nodes_renamed(fs->links, dir, name, dir2, name2, wanted & CHANGE_EXCHANGE);
		audited_names(fs, req, wanted & CHANGE_EXCHANGE ? "exchange" : "rename", dir, name,
			dir2, name2);
	}
	call_sleep(NULL, cache_move_answer_waits(fs->cache), NULL);
	fs_reply(request_end(&r), &e);
	cache_move_answered(fs->cache);
}
