/*
 * notifier.h - notices to the kernel about inodes and names that it must forget.
 *
 * One thread sends the notices, and holds no lock while it does. No handler waits for it without a
 * limit: a notice can block in the kernel until the very operation that caused it has been
 * answered. A thread of its own that replies (a run of `exec`) may wait for the notices that were
 * queued before.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct notifier;
struct notices;

/* Makes the notices that a mark of notifier_all() stands for, when the mark is reached. */
struct notifier_source {
	/*
	 * Adds some notices; false: there are no more. Called on the notifier's thread. NULL: there
	 * are none.
	 */
	bool (*outdated)(void *context, struct notices *some);
	/*
	 * Whether a name that did not exist still does not. NULL: no notice says that a name is
	 * gone.
	 */
	bool (*is_gone)(void *context, fuse_ino_t dir, const char *name);
	void *context;
};

/*
 * Starts the thread: to be called after daemonizing. `source` NULL: notifier_all() is never called.
 */
enum err notifier_new(struct notifier **out, struct fuse_session *session,
	const struct notifier_source *source, struct error *e);
/*
 * No notice is sent any more. Waits up to `limit_ms` for the one under way, which may itself wait
 * for requests that are answered. To be called before unmounting, since the thread has the device
 * open.
 */
void notifier_stop(struct notifier *n, int64_t limit_ms);
/*
 * After unmounting, which ends a notice that is blocked in the kernel, and before the session is
 * destroyed.
 */
void notifier_free(struct notifier *n);

/*
 * Queue a notice and return. `pages`: contents, too. `is_gone`: the name does not exist any more.
 */
void notifier_inode(struct notifier *n, fuse_ino_t ino, bool pages);
void notifier_name(struct notifier *n, fuse_ino_t dir, const char *name, bool is_gone);
/* One mark for all notices that the source has when the mark is reached. */
void notifier_all(struct notifier *n);

/* Wakes the process that polls; takes `waiting`. */
void notifier_poll(struct notifier *n, struct fuse_pollhandle *waiting);

/*
 * Waits up to `limit_ms` until all notices queued before this call are sent. A handler may call it
 * only where no notice in the queue can wait for that handler: notices about control files never
 * do, and a notice of attributes alone waits for no request.
 */
bool notifier_drain(struct notifier *n, int64_t limit_ms);
