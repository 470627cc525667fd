/*
 * Extended attributes: the user's own. Others belong to the kernel of the sandbox and are not
 * carried.
 */
#include "fs/audited.h"
#include "fs/fs.h"
#include "fs/request.h"

#include "cache/contents.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

/*
 * Answered without asking the sandbox: the kernel asks for security.capability at every write, and
 * ls for the access list of every file.
 */
static bool is_carried(fuse_ino_t ino, const char *name)
{
	return !control_owns(ino) && !strncmp(name, "user.", 5) && name[5];
}

/*
 * The kernel's error for a name that it does not carry, or that ends where the user's part should
 * begin.
 */
static int refusal(const char *name)
{
	return !strcmp(name, "user.") ? EINVAL : EOPNOTSUPP;
}

/* A size of 0 asks for the length. */
static void reply_xattr(fuse_req_t req, const struct buf *value, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, value->len);
	else if (value->len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, buf_text(value), value->len);
}

static void ask_xattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	AUTO_BUF struct buf value = BUF_INIT(VERB_XATTR_MAX * 16);
	struct error e = { 0 };

	request_begin(&r, req);
	if (cache_xattr(fs->cache, &r.call, fs_inode(fs, ino), name, &value, &e))
		fs_reply(request_end(&r), &e);
	else
		reply_xattr(request_end(&r), &value, size);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	if (is_carried(ino, name))
		ask_xattr(req, ino, name, size);
	else
		fuse_reply_err(req, refusal(name));
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	static const struct buf none = { 0 };

	if (control_owns(ino))
		reply_xattr(req, &none, size);
	else
		ask_xattr(req, ino, NULL, size);
}

void op_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	uint32_t wanted = 0;
	struct error e = { 0 };

	if (!is_carried(ino, name)) {
		fuse_reply_err(req, refusal(name));
		return;
	}
	if (flags & XATTR_CREATE)
		wanted |= CHANGE_EXCL;
	if (flags & XATTR_REPLACE)
		wanted |= CHANGE_REPLACE;
	request_begin(&r, req);
	if (!cache_setxattr(fs->cache, &r.call, fs_inode(fs, ino), name, value, size, wanted, &e))
		audited_inode(fs, req, "setxattr", fs_inode(fs, ino));
	fs_reply(request_end(&r), &e);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	const struct fs *fs = fuse_req_userdata(req);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (!is_carried(ino, name)) {
		fuse_reply_err(req, refusal(name));
		return;
	}
	request_begin(&r, req);
	if (!cache_removexattr(fs->cache, &r.call, fs_inode(fs, ino), name, &e))
		audited_inode(fs, req, "removexattr", fs_inode(fs, ino));
	fs_reply(request_end(&r), &e);
}
