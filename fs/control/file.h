/*
 * file.h - what a file of the control directory is to control.c and names.c: a row of their tables.
 *
 * A new file is one source file that exports one `const struct control_file`, and one line in the directory that has it.
 */
#pragma once

#include "fs/control/control.h"
#include "fs/deferred.h"
#include "providers/base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <time.h>

struct control_handle;
struct events;
struct exec_last;
struct jobs;
struct sessions;

/* What the files share, fixed from control_new() on, or with a lock of its own. */
struct control {
	struct cache *cache;
	struct notifier *notifier;
	struct control_options options;
	struct timespec mounted_at;  /* shown as every time of every file */
	struct deferrals *deferrals; /* runs that are going on */
	struct events *events;       /* what others changed */
	struct exec_last *exec_last; /* the last finished command, for who did not write one */
	struct jobs *jobs;           /* what was spawned */
	struct sessions *sessions;   /* the names that commands go on in */
	pthread_mutex_t lock;
	LIST_HEAD(control_handles, control_handle) handles; /* all open ones; under the lock */
};

struct control_dir;

/* Every function may be called from several threads at once, also for one handle; `close` is its last call, alone. */
struct control_file {
	const char *name; /* NULL: a number, in a directory that has `numbered` */
	fuse_ino_t ino;   /* from CONTROL_INO_DIR on, below CONTROL_INO_END, its own */
	mode_t mode;      /* permission bits, shown and enforced: who may open it for what */

	const struct control_dir
		*dir; /* of a directory, which has nothing of what follows; NULL: a file */

	bool is_stream; /* has no offsets */

	/* Its size now; NULL: it has none, which is 0. */
	enum err (*size)(struct control *c, uint64_t number, const struct call *call,
		uint64_t *size, struct error *e);

	/*
	 * A new handle for an open file, embedding struct control_handle, which control.c fills. `number`: that of the numbered
	 * directory or file on the way to it; 0: there is none. NULL: no memory, or that number is gone.
	 */
	struct control_handle *(*open)(struct control *c, uint64_t number);

	/* Answers with bytes, now or later. NULL exactly where `mode` lets nobody read. */
	void (*read)(struct control_handle *h, fuse_req_t req, size_t size, off_t off);

	/* Takes bytes and answers. NULL exactly where `mode` lets nobody write. */
	void (*write)(struct control_handle *h, fuse_req_t req, const char *bytes, size_t size);

	/*
	 * What of poll(2)'s events there is now. `waiting`, if not NULL, is the file's from then on: the notifier takes it when
	 * there is more. NULL: it can always be read and written.
	 */
	unsigned (*poll)(struct control_handle *h, struct fuse_pollhandle *waiting);

	/*
	 * One of the file's descriptors was closed, by the process that opened the handle: answers
	 * now or later. NULL: there is nothing to do. Flushes of other processes never get here:
	 * each child that inherited the descriptor sends one. Where the opener is not visible from
	 * here, the process that wrote last takes its part.
	 */
	void (*flush)(struct control_handle *h, fuse_req_t req);

	/*
	 * The process that opened the handle was killed by a signal, and closes its files thereby:
	 * forgets what was written and not closed. NULL: a close is a close, and `flush` is called.
	 */
	void (*abandon)(struct control_handle *h);

	/* The last descriptor was closed: frees the handle. What it starts goes on without anybody waiting. */
	void (*close)(struct control_handle *h);
};

struct control_dir {
	const struct control_file *const *files; /* by name; ended by NULL */
	const struct control_file *numbered; /* besides, each number that `has` knows; NULL: none */
	bool (*has)(struct control *c, uint64_t number);
	/* Which of them are listed: the next after that one; 0: no more. */
	uint64_t (*next)(struct control *c, uint64_t number);

	/* Where numbers stand for names: of a name, 0: none; and its name. NULL: numbers are written. */
	uint64_t (*find)(struct control *c, const char *name);
	const char *(*name_of)(struct control *c, uint64_t number);
	/* Asks the sandbox which are listed, before they are; and ends one. NULL: that is not so. */
	enum err (*refresh)(struct control *c, const struct call *call, struct error *e);
	enum err (*remove)(
		struct control *c, uint64_t number, const struct call *call, struct error *e);
};

/* The first member of every file's own handle. */
struct control_handle {
	unsigned magic; /* in fi->fh: is it one? */
	const struct control_file *file;
	struct control *control;
	pid_t opener; /* the process (thread group) that opened it; 0: not visible from here */
	uid_t opener_uid;
	_Atomic uint64_t writer; /* lock_owner of the last write */
	_Atomic int flags;       /* O_NONBLOCK and others, as of the open or the last read */
	LIST_ENTRY(control_handle) link;
};

/* What a node number stands for. */
struct control_node {
	const struct control_file *file; /* NULL: for nothing */
	uint64_t number;
};
struct control_node control_node(fuse_ino_t ino);

extern const struct control_file control_events;
extern const struct control_file control_exec;
extern const struct control_file control_id;
extern const struct control_file control_jobs;
extern const struct control_file control_ports;
extern const struct control_file control_session_exec;
extern const struct control_file control_sessions;
extern const struct control_file control_spawn;
extern const struct control_file control_stats;
extern const struct control_file control_status;
extern const struct control_file control_sync;

/*
 * Answers a read of `text` at `off`; less than `size`, or nothing, at its end. Not of a text that
 * belongs to the handle, which the reply may end: of such a text a part is copied before.
 */
void control_reply_text(fuse_req_t req, const struct buf *text, size_t size, off_t off);

void control_copy_part(const struct buf *text, size_t size, off_t off, struct buf *out);
void control_reply_part(fuse_req_t req, const struct buf *part);

/* How long an answer waits for the kernel to have forgotten what a command may have changed. */
#define CONTROL_FORGET_MS 2000

/* For control_new() and control_free(). */
enum err exec_last_new(struct exec_last **out, struct error *e);
void exec_last_free(struct exec_last *last);
