/* Numbers, owners and replies: needed by every operation. */
#include "fs/fs.h"
#include "fs/errmap.h"

#include "providers/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct inode *fs_inode(const struct fs *fs, fuse_ino_t ino)
{
	const struct link_node *link = link_node_of(ino);
	struct inode *i =
		ino == FUSE_ROOT_ID ? cache_root(fs->cache) : (struct inode *)(uintptr_t)ino;

	if (link)
		return link_node_inode(link);
	if (i->magic != INODE_MAGIC) {
		log_error(LOG_FS, "node %#llx is none of ours", (unsigned long long)ino);
		abort();
	}
	return i;
}

fuse_ino_t fs_number(const struct fs *fs, const struct inode *i)
{
	return i == cache_root(fs->cache) ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)i;
}

double fs_seconds(int64_t ms)
{
	return (double)(ms < TREE_KERNEL_MAX_MS ? ms : TREE_KERNEL_MAX_MS) / 1000;
}

/* ---- Owners ---- */

static uid_t uid_outwards(const struct fs *fs, uint32_t uid)
{
	const struct identity *sandbox = &cache_sandbox(fs->cache)->identity;

	return fs->options->map_owners && uid == sandbox->uid ? fs->options->uid : uid;
}

gid_t fs_gid_outwards(const struct fs *fs, uint32_t gid)
{
	const struct identity *sandbox = &cache_sandbox(fs->cache)->identity;

	return fs->options->map_owners && gid == sandbox->gid ? fs->options->gid : gid;
}

uint32_t fs_uid_inwards(const struct fs *fs, uid_t uid)
{
	const struct identity *sandbox = &cache_sandbox(fs->cache)->identity;

	return fs->options->map_owners && uid == fs->options->uid ? sandbox->uid : uid;
}

uint32_t fs_gid_inwards(const struct fs *fs, gid_t gid)
{
	const struct identity *sandbox = &cache_sandbox(fs->cache)->identity;

	return fs->options->map_owners && gid == fs->options->gid ? sandbox->gid : gid;
}

/* ---- Attributes ---- */

/*
 * The mount is one device to the kernel. Files on another device in the sandbox keep that device's
 * numbers, so those are moved apart: equal numbers would look like hard links.
 */
static ino_t shown_ino(const struct fs *fs, const struct attr *attr)
{
	if (attr->dev == fs->root_dev)
		return attr->ino;
	return attr->ino ^ ((attr->dev ^ fs->root_dev) * 0x9e3779b97f4a7c15u);
}

/*
 * The kernel says where the link stands, and the mount says where that directory is. So no answer
 * of the sandbox makes the kernel resolve a text anywhere but in the directory that the text was
 * made for.
 */
enum err fs_link_text(const struct fs *fs, const struct link_shown *shown, char out[LINKS_TEXT_MAX],
	struct error *e)
{
	const char *text = shown->text;

	if (shown->is_raw || links_is_contained(text, 0)) {
		strcpy(out, text);
		return ERR_OK;
	}
	if (shown->is_moved)
		return error_set(e, ERR_STALE, "a link that was moved to another directory");
	if (links_is_contained(text, shown->depth)) {
		strcpy(out, text);
		return ERR_OK;
	}
	if (fs->options->symlinks == SYMLINKS_REFUSE)
		return error_set(e, ERR_DENIED, "a link that leads out of the mount");
	return links_rewrite(
		text, shown->depth, cache_sandbox(fs->cache)->root, out, LINKS_TEXT_MAX, e);
}

struct link_shown fs_link_shown(
	const struct fs *fs, const struct link_node *node, const char *text, bool is_ours)
{
	const struct link_place place = link_node_place(fs->links, node);

	return (struct link_shown){ .text = text,
		.dir = place.dir,
		.depth = cache_depth_in(fs->cache, place.dir).depth,
		.is_raw = fs->options->symlinks == SYMLINKS_RAW || (is_ours && place.is_ours),
		.is_moved = place.is_moved };
}

/* A reader makes room for as many bytes as stat(2) reports. */
static off_t shown_size(
	const struct fs *fs, struct inode *i, const struct link_node *node, const struct attr *attr)
{
	char text[VERB_LINK_MAX + 1], out[LINKS_TEXT_MAX];
	bool is_ours;

	if (!node || !cache_link_known(fs->cache, i, text, &is_ours))
		return (off_t)attr->size;
	const struct link_shown shown = fs_link_shown(fs, node, text, is_ours);

	return (off_t)(fs_link_text(fs, &shown, out, NULL) ? attr->size : strlen(out));
}

void fs_stat(const struct fs *fs, struct inode *i, const struct link_node *node,
	const struct attr *attr, struct stat *out)
{
	*out = (struct stat){ .st_ino = shown_ino(fs, attr),
		.st_mode = attr->mode,
		.st_nlink = attr->nlink,
		.st_uid = uid_outwards(fs, attr->uid),
		.st_gid = fs_gid_outwards(fs, attr->gid),
		.st_rdev = attr->rdev,
		.st_size = shown_size(fs, i, node, attr),
		.st_blksize = attr->blksize,
		.st_blocks = (blkcnt_t)attr->blocks,
		.st_atim = attr->atime,
		.st_mtim = attr->mtime,
		.st_ctim = cache_shown_ctime(fs->cache, i, attr) };
}

/*
 * After a change through one node of a link, the kernel does not know that its other nodes changed.
 */
double fs_attr_seconds(const struct attr *attr, int64_t ms)
{
	return S_ISLNK(attr->mode) && attr->nlink > 1 ? 0 : fs_seconds(ms);
}

bool fs_entry(const struct fs *fs, const struct cache_entry *entry, struct fuse_entry_param *out)
{
	bool is_link = S_ISLNK(entry->attr.mode);
	fuse_ino_t number =
		is_link ? link_nodes_give(fs->links, entry) : fs_number(fs, entry->inode);

	*out = (struct fuse_entry_param){ .ino = number,
		.generation = 1,
		.attr_timeout = fs_attr_seconds(&entry->attr, entry->valid_ms),
		.entry_timeout = fs_seconds(entry->name_valid_ms) };
	if (number)
		fs_stat(fs, entry->inode, is_link ? link_node_of(number) : NULL, &entry->attr,
			&out->attr);
	return number;
}

void fs_forget(const struct fs *fs, fuse_ino_t ino, uint64_t count)
{
	struct link_node *link = link_node_of(ino);

	if (link)
		link_nodes_forget(fs->links, link, count);
	else
		cache_forget(fs->cache, fs_inode(fs, ino), count);
}

/* ---- Replies ---- */

/* The longest time that an answer waits until the kernel has forgotten delegated attributes. */
#define REVOKE_MS 1000

void fs_revoke(const struct fs *fs)
{
	notifier_drain(fs->revoker, REVOKE_MS);
}

void fs_reply(fuse_req_t req, const struct error *e)
{
	int number = errmap_errno(e->kind);

	fs_revoke(fuse_req_userdata(req));
	if (number)
		log_debug(LOG_FS, "%s", e->text);
	fuse_reply_err(req, number);
}

void fs_reply_entry(fuse_req_t req, const struct fs *fs, const struct cache_entry *entry)
{
	struct fuse_entry_param param;

	fs_revoke(fs);
	if (!fs_entry(fs, entry, &param))
		fuse_reply_err(req, ENOMEM);
	else if (fuse_reply_entry(req, &param))
		fs_forget(fs, param.ino, 1);
}

bool fs_is_control_name(fuse_ino_t parent, const char *name)
{
	return parent == FUSE_ROOT_ID && !strcmp(name, CONTROL_DIR_NAME);
}

const struct fuse_lowlevel_ops fs_ops = {
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.access = op_access,
	.statfs = op_statfs,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.create = op_create,
#ifdef HAVE_FUSE_TMPFILE
	.tmpfile = op_tmpfile,
#endif
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
	.copy_file_range = op_copy_file_range,
	.lseek = op_lseek,
	.poll = op_poll,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
};
