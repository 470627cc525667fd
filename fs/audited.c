#include "fs/audited.h"

#include "cache/names.h"
#include "fs/audit.h"
#include "providers/base/cleanup.h"
#include "providers/verbs.h"

static struct audit_who who_asks(fuse_req_t req)
{
	const struct fuse_ctx *context = fuse_req_ctx(req);

	return (struct audit_who){ .pid = context->pid, .uid = context->uid };
}

/* The path as known here, without asking the sandbox. NULL: the inode has no name any more. */
static char *path_of(const struct fs *fs, const struct inode *dir, const char *name)
{
	struct error e = { 0 };
	char *path = NULL;

	return cache_known_path(fs->cache, dir, name, &path, &e) ? NULL : path;
}

void audited_names(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name, const struct inode *dir2, const char *name2)
{
	const struct audit_who who = who_asks(req);

	if (!fs->options->audit)
		return;
	AUTO_FREE char *path = path_of(fs, dir, name);
	AUTO_FREE char *path2 = dir2 ? path_of(fs, dir2, name2) : NULL;

	audit_change(fs->options->audit, &who, op, path ? path : name ? name : "", path2);
}

void audited_name(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name)
{
	audited_names(fs, req, op, dir, name, NULL, NULL);
}

void audited_inode(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *i)
{
	audited_names(fs, req, op, i, NULL, NULL, NULL);
}

char *audited_path(const struct fs *fs, const struct inode *i)
{
	return fs->options->audit ? path_of(fs, i, NULL) : NULL;
}

void audited_link(const struct fs *fs, fuse_req_t req, const char *path, const struct inode *dir,
	const char *name)
{
	const struct audit_who who = who_asks(req);

	if (!fs->options->audit)
		return;
	AUTO_FREE char *to = path_of(fs, dir, name);

	/* A file that had no name before gets its first. */
	if (path)
		audit_change(fs->options->audit, &who, "link", path, to);
	else
		audit_change(fs->options->audit, &who, "create", to ? to : name, NULL);
}

void audited_write(const struct fs *fs, fuse_req_t req, const struct inode *i, uint64_t bytes)
{
	const struct audit_who who = who_asks(req);

	audit_wrote(fs->options->audit, &who, i, bytes);
}

void audited_close(const struct fs *fs, const struct inode *i)
{
	if (!audit_has_written(fs->options->audit, i))
		return;
	AUTO_FREE char *path = path_of(fs, i, NULL);

	audit_closed(fs->options->audit, i, path);
}
