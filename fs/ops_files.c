/* Operations on open files. */
#include "fs/audited.h"
#include "fs/fs.h"
#include "fs/handle.h"
#include "fs/request.h"
#include "fs/setgid.h"

#include "cache/contents.h"
#include "cache/names.h"
#include "providers/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void op_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct create_args making = { .op = CHANGE_CREATE,
		.mode = mode & 07777,
		.uid = who->uid,
		.gid = who->gid,
		.exclusive = fi->flags & O_EXCL,
		.empties = fi->flags & O_TRUNC,
		.opens = true };
	struct fuse_entry_param param;
	struct cache_entry entry;
	struct error e = { 0 };

	if (control_owns(parent) || fs_is_control_name(parent, name)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	request_begin(&r, req);
	if (cache_make(fs->cache, &r.call, fs_inode(fs, parent), name, &making, &entry, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	if (cache_open_made(fs->cache, &r.call, &entry, fi->flags, &e)) {
		/* The kernel takes a failed create for one that changed nothing. */
		notifier_inode(fs->revoker, parent, false);
		cache_forget(fs->cache, entry.inode, 1);
		fs_reply(request_end(&r), &e);
		return;
	}
	audited_name(fs, req, "create", fs_inode(fs, parent), name);
	fs_revoke(fs);
	fs_entry(fs, &entry, &param);
	handle_begins(fs->cache, fi);
	if (fuse_reply_create(request_end(&r), &param, fi)) {
		handle_ends(fs->cache, entry.inode, fi);
		fs_forget(fs, param.ino, 1);
	}
}

#ifdef HAVE_FUSE_TMPFILE
void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct create_args making = { .op = CHANGE_CREATE,
		.mode = mode & 07777,
		.uid = who->uid,
		.gid = who->gid,
		.exclusive = true };
	struct fuse_entry_param param;
	struct cache_entry entry;
	struct error e = { 0 };

	if (control_owns(parent)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	request_begin(&r, req);
	if (cache_make_nameless(fs->cache, &r.call, &making, &entry, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	fs_entry(fs, &entry, &param);
	handle_begins(fs->cache, fi);
	if (fuse_reply_create(request_end(&r), &param, fi)) {
		handle_ends(fs->cache, entry.inode, fi);
		fs_forget(fs, param.ino, 1);
	}
}
#endif

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	bool keep_pages;

	if (control_owns(ino)) {
		control_open(fs->control, req, ino, fi);
		return;
	}
	request_begin(&r, req);
	if (cache_open(fs->cache, &r.call, fs_inode(fs, ino), fi->flags, &keep_pages, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	fi->direct_io = cache_reads_directly(fs->cache, fs_inode(fs, ino));
	fi->keep_cache = keep_pages && !fi->direct_io;
	handle_begins(fs->cache, fi);
	openings_note(fs->openings, fuse_req_ctx(req)->pid, ino);
	if (fuse_reply_open(request_end(&r), fi))
		handle_ends(fs->cache, fs_inode(fs, ino), fi);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	size_t got;

	if (control_owns(ino)) {
		control_read(fs->control, req, ino, size, offset, fi);
		return;
	}
	AUTO_FREE char *bytes = malloc(size);

	request_begin(&r, req);
	r.call.no_atime = fi->flags & O_NOATIME;
	if (!bytes)
		fuse_reply_err(request_end(&r), ENOMEM);
	else if (cache_read(fs->cache, &r.call, fs_inode(fs, ino), (uint64_t)offset, bytes, size,
			 &got, &e))
		fs_reply(request_end(&r), &e);
	else
		fuse_reply_buf(request_end(&r), bytes, got);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	unsigned flags = handle_write_flags(fi);
	struct error e = { 0 };

	if (control_owns(ino)) {
		control_write(fs->control, req, ino, bytes, size, offset, fi);
		return;
	}
	struct inode *i = fs_inode(fs, ino);

	request_begin(&r, req);
	/* The kernel writes a mapping's pages back for no particular process. */
	if (!fi->writepage && setgid_drop(fs, req, &r.call, i, &e))
		fs_reply(request_end(&r), &e);
	else if (cache_write(fs->cache, &r.call, i, (uint64_t)offset, bytes, size, flags, &e))
		fs_reply(request_end(&r), &e);
	else {
		audited_write(fs, req, i, size);
		fuse_reply_write(request_end(&r), size);
	}
}

/* A close of a handle for reading neither waits nor takes an error that a writer has to receive. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (control_owns(ino)) {
		control_flush(fs->control, req, ino, fi);
		return;
	}
	request_begin(&r, req);
	if (fi->fh == HANDLE_WRITES)
		cache_flush(fs->cache, &r.call, fs_inode(fs, ino), &e);
	fs_reply(request_end(&r), &e);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);

	if (control_owns(ino)) {
		control_release(fs->control, req, ino, fi);
		return;
	}
	if (fi->fh == HANDLE_WRITES)
		audited_close(fs, fs_inode(fs, ino));
	handle_ends(fs->cache, fs_inode(fs, ino), fi);
	fuse_reply_err(req, 0);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	(void)datasync;
	(void)fi;
	request_begin(&r, req);
	if (!control_owns(ino))
		cache_fsync(fs->cache, &r.call, fs_inode(fs, ino), &e);
	fs_reply(request_end(&r), &e);
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	(void)fi;
	request_begin(&r, req);
	if (control_owns(ino))
		error_set(&e, ERR_UNSUPPORTED, "control file");
	else if (!setgid_drop(fs, req, &r.call, fs_inode(fs, ino), &e))
		cache_fallocate(fs->cache, &r.call, fs_inode(fs, ino), mode, (uint64_t)offset,
			(uint64_t)length, &e);
	if (!e.kind && !control_owns(ino))
		audited_inode(fs, req, "fallocate", fs_inode(fs, ino));
	fs_reply(request_end(&r), &e);
}

/* The kernel reads 32 bits of the answer: whole pages. A caller that wants more asks again. */
#define COPY_MAX ((size_t)UINT32_MAX & ~(size_t)4095)

void op_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t offset, struct fuse_file_info *fi,
	fuse_ino_t ino2, off_t offset2, struct fuse_file_info *fi2, size_t len, int flags)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	uint64_t copied = 0;

	(void)fi;
	(void)fi2;
	len = len < COPY_MAX ? len : COPY_MAX;
	if (flags || control_owns(ino) || control_owns(ino2)) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	request_begin(&r, req);
	if (setgid_drop(fs, req, &r.call, fs_inode(fs, ino2), &e))
		fs_reply(request_end(&r), &e);
	else if (cache_copy(fs->cache, &r.call, fs_inode(fs, ino), (uint64_t)offset,
			 fs_inode(fs, ino2), (uint64_t)offset2, len, &copied, &e))
		fs_reply(request_end(&r), &e);
	else {
		audited_write(fs, req, fs_inode(fs, ino2), copied);
		fuse_reply_write(request_end(&r), copied);
	}
}

void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	uint64_t found;

	(void)fi;
	request_begin(&r, req);
	if (control_owns(ino) || (whence != SEEK_DATA && whence != SEEK_HOLE))
		fuse_reply_err(request_end(&r), EINVAL);
	else if (offset < 0)
		fuse_reply_err(request_end(&r), ENXIO);
	else if (cache_seek(fs->cache, &r.call, fs_inode(fs, ino), (uint64_t)offset,
			 whence == SEEK_HOLE, &found, &e))
		fs_reply(request_end(&r), &e);
	else
		fuse_reply_lseek(request_end(&r), (off_t)found);
}

/* Reads and writes of files are always ready. */
void op_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *waiting)
{
	const struct fs *fs = fuse_req_userdata(req);

	if (control_owns(ino)) {
		control_poll(fs->control, req, ino, fi, waiting);
		return;
	}
	fuse_pollhandle_destroy(waiting);
	fuse_reply_poll(req, CONTROL_POLL_ALWAYS);
}
