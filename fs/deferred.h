/*
 * deferred.h - work that takes long, and the request that is answered when the work has ended.
 *
 * No FUSE worker waits for a command. The work runs in a thread of its own. A second thread attends
 * the request and answers when the work has ended, or earlier when the process behind the request
 * gets a signal to stop. Then the work's call is cancelled, and if it does not return at once the
 * answer is sent before it returns.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/call.h"

/* All deferred work of one mount. */
struct deferrals;

struct deferred_work {
	/* Does the work. Gives up when `cancel` is thrown. */
	void (*run)(void *context, const struct cancel *cancel);
	/*
	 * Answers `req`, exactly once; not called where there is none. `ended`: run() has returned;
	 * otherwise run() may still be going on in its own thread.
	 */
	void (*answer)(void *context, fuse_req_t req, bool ended);
	/* The last call: `context` is not used any more. */
	void (*release)(void *context);
};

enum err deferrals_new(struct deferrals **out, struct error *e);
/*
 * Cancels all work and returns when the last thread has ended. After that no work can be started.
 */
void deferrals_stop(struct deferrals *all);
/* After deferrals_stop(). */
void deferrals_free(struct deferrals *all);

/*
 * Starts the work. `req` may be NULL: no request waits. On an error the caller still has `context`
 * and `req`.
 */
enum err deferred_start(struct deferrals *all, const struct deferred_work *work, void *context,
	fuse_req_t req, struct error *e);
