/*
 * control.h - the directory `.sandbox` of a mount: commands and facts as files.
 *
 * The nodes of the control directory never reach the cache's tree, and no inode of the tree has
 * their numbers. Each file has a small number, below CONTROL_INO_END. A file below a number
 * (`jobs/1/status`) has a number made of both. ops_*.c pass on every operation whose node is one of
 * them. Each function replies to `req` exactly once, now or later: a run of `exec` and `sync` reply
 * from a thread of their own, so that no FUSE worker waits for a command.
 */
#pragma once

#include "fs/control/exec_command.h"
#include "fs/lowlevel.h"
#include "providers/base/error.h"
#include "providers/verbs.h"

#include <poll.h>
#include <stdbool.h>

struct cache;
struct control;
struct notifier;

#define CONTROL_DIR_NAME ".sandbox"
#define CONTROL_INO_DIR  2 /* FUSE_ROOT_ID is 1 */
#define CONTROL_INO_END  64

/* The events that poll(2) reports of a file whose reads and writes never wait. */
#define CONTROL_POLL_ALWAYS (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM)

/*
 * Set in node numbers that contain a number (`jobs/1`). Inode numbers of the tree are addresses of
 * this process, which are lower.
 */
#define CONTROL_INO_NUMBERED ((fuse_ino_t)1 << 62)

static inline bool control_owns(fuse_ino_t ino)
{
	return (ino >= CONTROL_INO_DIR && ino < CONTROL_INO_END) || ino >= CONTROL_INO_NUMBERED;
}

struct control_options {
	/* the mounted source, "PROVIDER:...", for `status`; must outlive the struct control */
	const char *source;
	struct exec_terms exec; /* 1800 s by default */
	uid_t uid;              /* the shown owner of the control files: the mounting user */
	gid_t gid;
};

/* `cache` and `notifier` outlive the struct control. Starts no thread yet. */
enum err control_new(struct control **out, struct cache *cache, struct notifier *notifier,
	const struct control_options *options, struct error *e);
/*
 * Cancels all runs and waits for their threads. To be called before the session is destroyed:
 * requests may still be answered here.
 */
void control_free(struct control *c);

/* Something in the sandbox was changed from elsewhere: for `events`. Never waits. */
void control_changed(struct control *c, enum watch_kind kind, const char *path, bool is_dir);

/* The entry of the directory itself, for a lookup of CONTROL_DIR_NAME in the root. */
void control_entry(const struct control *c, struct fuse_entry_param *out);

void control_lookup(struct control *c, fuse_req_t req, fuse_ino_t parent, const char *name);
void control_getattr(struct control *c, fuse_req_t req, fuse_ino_t ino);
/*
 * `to_set`: FUSE_SET_ATTR_*. chmod, chown and times are EPERM; a truncation (a shell's `>`) has no
 * effect.
 */
void control_setattr(struct control *c, fuse_req_t req, fuse_ino_t ino, int to_set);
void control_opendir(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_rmdir(struct control *c, fuse_req_t req, fuse_ino_t parent, const char *name);
void control_readdir(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off);
void control_readdirplus(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off);
void control_open(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_read(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi);
void control_write(struct control *c, fuse_req_t req, fuse_ino_t ino, const char *bytes,
	size_t size, off_t off, struct fuse_file_info *fi);
/* `waiting` may be NULL; otherwise the file takes it. */
void control_poll(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	struct fuse_pollhandle *waiting);
void control_flush(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void control_release(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
