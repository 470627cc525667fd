/*
 * hasty_kernel.h - operations without a mount, called by a kernel that is as quick as a kernel may
 * be: while a worker is still inside its reply, another one has already handled the next request.
 *
 * The functions of libfuse that a worker calls are replaced in the whole test program. A request
 * is poisoned (fs/handle_memory.h) when its reply is given.
 */
#pragma once

#include "fs/fs.h"
#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <semaphore.h>
#include <stdatomic.h>

struct kernel {
	struct fs fs;
	struct mount_options options;
	struct host_provider sandbox;
	struct scratch scratch;
	pid_t asker;                /* the process that makes every request */
	atomic_bool is_interrupted; /* each request is interrupted by a signal */
	atomic_uint looks;          /* how often an operation looked for an interrupt */
};

/* The sandbox is a directory of this machine with a file `f` in a directory `d`. */
void kernel_make(struct kernel *k);
void kernel_remove(struct kernel *k);

/* Called by the thread that sends a notice about an inode; NULL: no function is called. */
extern void (*kernel_on_notice)(fuse_ino_t ino, off_t off);

struct answer {
	sem_t given;
	int error;
	bool was_interruptible; /* an interrupt could reach the request after its reply */
	fuse_ino_t ino;         /* the inode of an entry */
	uint64_t fh;            /* the handle of a file or directory that was opened */
	off_t off;              /* the offset that an lseek found */
	off_t size;             /* the size in the attributes */
	double valid_s;         /* how long the attributes may be kept, in seconds */
	struct statvfs space;
	size_t len;       /* the number of bytes in the reply */
	char bytes[4096]; /* the first bytes of the reply, or a link's text, and a NUL */
};

/* The work of another worker while the reply is given. */
struct follower {
	void (*run)(void *context);
	void *context;
};

/* One request, to be passed to one operation; `next` may be NULL. */
fuse_req_t kernel_request(struct kernel *k, struct answer *answer, const struct follower *next);
/* Waits for the reply. */
void kernel_await(struct answer *answer);

/* ---- Whole requests that nothing follows ---- */

/* The node behind a path, as "d/f" or ".sandbox/stats". */
fuse_ino_t kernel_lookup(struct kernel *k, const char *path);
void kernel_open(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi);
void kernel_write(struct kernel *k, fuse_ino_t ino, const char *text, struct fuse_file_info *fi);
/* Reads from the beginning of an opened file. */
void kernel_read(
	struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi, struct answer *answer);
void kernel_flush(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi);
void kernel_release(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi);
