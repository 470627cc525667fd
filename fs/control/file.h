/*
 * file.h - a file of the control directory as control.c and names.c see it: a row of their tables.
 *
 * A new file is one source file that exports one `const struct control_file`, and one line in the
 * table of its directory.
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

/* Shared by the files. Each field is fixed from control_new() on, or has a lock of its own. */
struct control {
	struct cache *cache;
	struct notifier *notifier;
	struct control_options options;
	struct timespec mounted_at;  /* every time of every file, as shown */
	struct deferrals *deferrals; /* runs under way */
	struct events *events;       /* changes by others */
	/* the last finished command, for readers that did not write one */
	struct exec_last *exec_last;
	struct jobs *jobs;         /* spawned commands */
	struct sessions *sessions; /* names of sessions */
	pthread_mutex_t lock;
	LIST_HEAD(control_handles, control_handle) handles; /* all open handles; under the lock */
};

struct control_dir;

/* The node numbers of the files. A new file has the last place. */
enum control_ino {
	CONTROL_INO_EXEC = CONTROL_INO_DIR + 1,
	CONTROL_INO_ID,
	CONTROL_INO_STATUS,
	CONTROL_INO_SYNC,
	CONTROL_INO_STATS,
	CONTROL_INO_EVENTS,
	CONTROL_INO_PORTS,
	CONTROL_INO_PORT,
	CONTROL_INO_SPAWN,
	CONTROL_INO_JOBS,
	CONTROL_INO_JOB,
	CONTROL_INO_JOB_STATUS,
	CONTROL_INO_JOB_OUTPUT,
	CONTROL_INO_JOB_STDIN,
	CONTROL_INO_JOB_KILL,
	CONTROL_INO_SESSIONS,
	CONTROL_INO_SESSION,
	CONTROL_INO_SESSION_EXEC,
	CONTROL_INO_USED, /* one past the last */
};
_Static_assert(CONTROL_INO_USED <= CONTROL_INO_END, "a file below a number has six bits");

/*
 * Every function may be called from several threads at once, also for one handle. `close` is the
 * last call, and runs alone.
 */
struct control_file {
	const char *name; /* NULL: the file is a number, in a directory that has `numbered` */
	fuse_ino_t ino;   /* enum control_ino; of `.sandbox` itself CONTROL_INO_DIR */
	/* permission bits, shown and enforced: which users may open the file, and for what */
	mode_t mode;

	/* directory: all fields below are unused; NULL: a file */
	const struct control_dir *dir;

	bool is_stream; /* has no offsets */

	/* The file's size now; NULL: always 0. */
	enum err (*size)(struct control *c, uint64_t number, const struct call *call,
		uint64_t *size, struct error *e);

	/*
	 * A new handle for an open file, embedding struct control_handle, which control.c fills.
	 * `number`: of the numbered directory or file in the path; 0: there is none. NULL: no
	 * memory, or that number is gone.
	 */
	struct control_handle *(*open)(struct control *c, uint64_t number);

	/* Answers with bytes, now or later. NULL exactly where `mode` allows no reading. */
	void (*read)(struct control_handle *h, fuse_req_t req, size_t size, off_t off);

	/* Takes bytes and answers. NULL exactly where `mode` allows no writing. */
	void (*write)(struct control_handle *h, fuse_req_t req, const char *bytes, size_t size);

	/*
	 * The events of poll(2) that are ready now. `waiting`, if not NULL, belongs to the file
	 * from then on: the notifier takes it when more is ready. A NULL slot: the file can always
	 * be read and written.
	 */
	unsigned (*poll)(struct control_handle *h, struct fuse_pollhandle *waiting);

	/*
	 * The process that opened the handle closed a descriptor of the file: answers now or later.
	 * NULL: nothing to do. Flushes of other processes never get here: each child that inherited
	 * the descriptor sends one. Where the opener is not visible from here, the process that
	 * wrote last counts as the opener.
	 */
	void (*flush)(struct control_handle *h, fuse_req_t req);

	/*
	 * The process that opened the handle was killed by a signal, which closes its files:
	 * forgets bytes that were written and not closed. NULL: a close is a close, and `flush` is
	 * called.
	 */
	void (*abandon)(struct control_handle *h);

	/*
	 * The last descriptor was closed: frees the handle. Work that it starts goes on, and no
	 * process waits for that.
	 */
	void (*close)(struct control_handle *h);
};

struct control_dir {
	const struct control_file *const *files; /* by name; ended by NULL */
	/* in addition, each number that `has` knows; NULL: none */
	const struct control_file *numbered;
	bool (*has)(struct control *c, uint64_t number);
	/* The next listed number after `number`; 0: no more. */
	uint64_t (*next)(struct control *c, uint64_t number);

	/*
	 * Where numbers stand for names: the number of a name, 0: none; and the name of a number.
	 * NULL: the numbers themselves are the names.
	 */
	uint64_t (*find)(struct control *c, const char *name);
	const char *(*name_of)(struct control *c, uint64_t number);
	/*
	 * refresh: asks the sandbox which numbers exist, before they are listed. remove: ends one.
	 * NULL: no such operation.
	 */
	enum err (*refresh)(struct control *c, const struct call *call, struct error *e);
	enum err (*remove)(
		struct control *c, uint64_t number, const struct call *call, struct error *e);
};

/* The first member of every file's own handle. */
struct control_handle {
	unsigned magic; /* marks a fi->fh that is a handle */
	const struct control_file *file;
	struct control *control;
	/* the process (thread group) that opened the handle; 0: not visible from here */
	pid_t opener;
	uid_t opener_uid;
	_Atomic uint64_t writer; /* lock_owner of the last write */
	_Atomic int flags;       /* O_NONBLOCK and others, as of the open or the last read */
	LIST_ENTRY(control_handle) link;
};

/* The file that a node number stands for. */
struct control_node {
	const struct control_file *file; /* NULL: no file */
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
 * Answers a read of `text` at `off`; less than `size`, or nothing, at its end. Not for a text that
 * belongs to the handle, since the handle may end with the reply: copy a part before.
 */
void control_reply_text(fuse_req_t req, const struct buf *text, size_t size, off_t off);

void control_copy_part(const struct buf *text, size_t size, off_t off, struct buf *out);
void control_reply_part(fuse_req_t req, const struct buf *part);

/* How long an answer waits until the kernel has forgotten whatever a command may have changed. */
#define CONTROL_FORGET_MS 2000

/* For control_new() and control_free(). */
enum err exec_last_new(struct exec_last **out, struct error *e);
void exec_last_free(struct exec_last *last);
