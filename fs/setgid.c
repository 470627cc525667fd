#include "fs/setgid.h"

#include "fs/notifier.h"

#include "cache/contents.h"

#include <sys/stat.h>

/*
 * More groups than a process has in practice. A process whose matching group is a later one loses
 * the bit, which is the safe side.
 */
#define GROUPS_MAX 1024

static bool is_in_group(fuse_req_t req, gid_t gid)
{
	gid_t groups[GROUPS_MAX];

	if (fuse_req_ctx(req)->gid == gid)
		return true;
	int count = fuse_req_getgroups(req, GROUPS_MAX, groups);

	for (int n = 0; n < count && n < GROUPS_MAX; n++)
		if (groups[n] == gid)
			return true;
	return false;
}

/* Whether the requesting process clears the bit by writing to a file with these attributes. */
static bool is_lost(const struct fs *fs, fuse_req_t req, const struct attr *attr)
{
	if (!S_ISREG(attr->mode) || (attr->mode & (S_ISGID | S_IXGRP)) != S_ISGID)
		return false;
	return fuse_req_ctx(req)->uid != 0 && !is_in_group(req, fs_gid_outwards(fs, attr->gid));
}

enum err setgid_drop(const struct fs *fs, fuse_req_t req, const struct call *call, struct inode *i,
	struct error *e)
{
	struct attr attr;
	struct change change = { .set = SET_MODE };

	cache_known_attr(fs->cache, i, &attr);
	if (!is_lost(fs, req, &attr))
		return ERR_OK;
	change.mode = attr.mode & 07777 & ~(uint32_t)S_ISGID;
	enum err kind = cache_setattr(fs->cache, call, i, &change, true, e);

	/* The kernel did not ask for this change of mode, and still has the old mode. */
	notifier_inode(fs->revoker, fs_number(fs, i), false);
	fs_revoke(fs);
	return kind;
}

void setgid_drop_with(const struct fs *fs, fuse_req_t req, struct inode *i, struct change *change)
{
	struct attr attr;

	cache_known_attr(fs->cache, i, &attr);
	if (!is_lost(fs, req, &attr))
		return;
	/*
	 * The kernel may have cleared the set-user-ID bit already; a change of owner clears it,
	 * too.
	 */
	if (!(change->set & SET_MODE))
		change->mode = attr.mode & 07777;
	if (change->set & (SET_UID | SET_GID))
		change->mode &= ~(uint32_t)S_ISUID;
	change->mode &= ~(uint32_t)S_ISGID;
	change->set |= SET_MODE;
}
