/*
 * fs.h - what the operations of a mount share. Only the files of fs include it.
 *
 * A FUSE worker runs an operation from request to reply, straight down. Node numbers become inodes
 * of the cache, one cache function is called, and its answer is translated to what the mount shows
 * (owners, links). Then the reply is sent. No operation holds a lock while it replies.
 */
#pragma once

#include "cache/cache.h"
#include "cache/metadata.h"
#include "fs/control/control.h"
#include "fs/link_nodes.h"
#include "fs/links.h"
#include "fs/lowlevel.h"
#include "fs/mount.h"
#include "fs/notifier.h"
#include "fs/openings.h"
#include "fs/switches.h"

struct fs {
	struct cache *cache;
	struct control *control;
	struct notifier *notifier;
	/* notices of attributes only; sending them waits for no request */
	struct notifier *revoker;
	struct switches *switches; /* for requests that are under way */
	struct link_nodes *links;
	struct openings *openings;
	const struct mount_options *options;
	uint64_t root_dev;
};

extern const struct fuse_lowlevel_ops fs_ops;

/* ---- Numbers of nodes ---- */

/*
 * The cache's inode behind a number that the kernel handed back. An unknown number is a bug of
 * ours: aborts.
 */
struct inode *fs_inode(const struct fs *fs, fuse_ino_t ino);
/* The number of an inode that is no symbolic link. A symbolic link has a number for each name. */
fuse_ino_t fs_number(const struct fs *fs, const struct inode *i);
/* The kernel has forgotten `count` of the references that replies gave it. */
void fs_forget(const struct fs *fs, fuse_ino_t ino, uint64_t count);

/* ---- As the mount shows it ---- */

/*
 * `attr` are the attributes of `i`. `node`: one of the nodes of a symbolic link; the size is then
 * that of the shown text. NULL: no symbolic link, or its text will not be read.
 */
void fs_stat(const struct fs *fs, struct inode *i, const struct link_node *node,
	const struct attr *attr, struct stat *out);
/*
 * Fills the reply, with the reference that `entry` holds. false: no memory, and the reference was
 * put back.
 */
bool fs_entry(const struct fs *fs, const struct cache_entry *entry, struct fuse_entry_param *out);
/* How a link's text is to be shown by one of its nodes; `is_ours` as cache_readlink() says. */
struct link_shown {
	const char *text;
	const struct inode *dir; /* in which the text is resolved */
	unsigned depth;          /* number of directories between the mount's root and the link */
	bool is_raw;             /* the text is shown unchanged */
	bool is_moved;           /* the name is no longer in that directory */
};

struct link_shown fs_link_shown(
	const struct fs *fs, const struct link_node *node, const char *text, bool is_ours);
/*
 * The text in the form that this side may follow. ERR_DENIED: refused, as the mount's options say.
 * ERR_STALE: the name has to be looked up again.
 */
enum err fs_link_text(const struct fs *fs, const struct link_shown *shown, char out[LINKS_TEXT_MAX],
	struct error *e);
/* How long the kernel may keep attributes that are valid for `ms` milliseconds. */
double fs_attr_seconds(const struct attr *attr, int64_t ms);
double fs_seconds(int64_t ms);
gid_t fs_gid_outwards(const struct fs *fs, uint32_t gid);
/* An owner as given on this side, in the sandbox's numbers. */
uint32_t fs_uid_inwards(const struct fs *fs, uid_t uid);
uint32_t fs_gid_inwards(const struct fs *fs, gid_t gid);

/* ---- Replies ---- */

/*
 * To be called before a change is answered. Makes the kernel forget delegated attributes that have
 * changed since. An answer to a getattr that is under way is dropped, too: the kernel counts the
 * changes of each inode (attr_version) and drops an answer that is older.
 *
 * For that the kernel takes no lock of a process that waits for one of our answers, except at the
 * end of the mount, when no process can ask any more. So there is a time limit, and a thread of its
 * own: only that thread is then blocked.
 */
void fs_revoke(const struct fs *fs);

/* Replies with the errno of `e` (0 for none). */
void fs_reply(fuse_req_t req, const struct error *e);
/*
 * Replies with an entry that holds a kernel reference. The reference is put back if the request was
 * given up meanwhile.
 */
void fs_reply_entry(fuse_req_t req, const struct fs *fs, const struct cache_entry *entry);

/* The name of the control directory, where a user would make or remove it. */
bool fs_is_control_name(fuse_ino_t parent, const char *name);

/* ---- The operations, by file ---- */

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi);
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_access(fuse_req_t req, fuse_ino_t ino, int mask);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_symlink(fuse_req_t req, const char *text, fuse_ino_t parent, const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t parent2,
	const char *name2, unsigned flags);

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	struct fuse_file_info *fi);
void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi);
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi);
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t offset, struct fuse_file_info *fi,
	fuse_ino_t ino2, off_t offset2, struct fuse_file_info *fi2, size_t len, int flags);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi);

void op_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *waiting);

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void op_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
	int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
