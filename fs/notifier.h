/*
 * notifier.h - tells the kernel what it must forget.
 *
 * One thread sends what it is given, holds no lock while it does, and is never waited for without end by a handler: a
 * notification can block in the kernel until the very operation that caused it has been answered. Whoever replies from a
 * thread of its own (a run of `exec`) may wait for what was queued before.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct notifier;
struct notices;

/* Makes the notices that notifier_all() stands for, when the mark is reached. */
struct notifier_source {
	/*
	 * Adds some notices; false: there are no more. On the notifier's thread. NULL: there are none.
	 */
	bool (*outdated)(void *context, struct notices *some);
	/* Whether a name that did not exist still does not. NULL: notices never say so. */
	bool (*is_gone)(void *context, fuse_ino_t dir, const char *name);
	void *context;
};

/* Starts the thread: to be called after daemonizing. `source` NULL: notifier_all() is never called. */
enum err notifier_new(struct notifier **out, struct fuse_session *session,
	const struct notifier_source *source, struct error *e);
/*
 * Nothing more is sent, and what is under way is waited for, `limit_ms` at most: it may wait for requests that are answered.
 * Before unmounting, since the thread has the device open.
 */
void notifier_stop(struct notifier *n, int64_t limit_ms);
/* After it, which ends a notification that is blocked in the kernel, and before the session is destroyed. */
void notifier_free(struct notifier *n);

/* Queue and return. `pages`: contents, too. `is_gone`: the name does not exist any more. */
void notifier_inode(struct notifier *n, fuse_ino_t ino, bool pages);
void notifier_name(struct notifier *n, fuse_ino_t dir, const char *name, bool is_gone);
/* One mark for every notice that the source has by then. */
void notifier_all(struct notifier *n);

/* Wakes who polls; takes it. */
void notifier_poll(struct notifier *n, struct fuse_pollhandle *waiting);

/*
 * Waits until everything queued before this call was sent, `limit_ms` at most. From a handler only where no notice in the
 * queue can wait for him: of control files none ever is, and one of attributes alone waits for nobody's request.
 */
bool notifier_drain(struct notifier *n, int64_t limit_ms);
