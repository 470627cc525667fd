/*
 * deferred.h - work that lasts, and the request that is answered when it has ended.
 *
 * No FUSE worker waits for a command. The work runs in a thread of its own and the request is attended by another, which
 * answers when the work has ended, or earlier when the process behind the request is told to stop: then the work's call is
 * cancelled, and if it does not return at once the answer goes out before it.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/call.h"

/* Everything deferred of one mount. */
struct deferrals;

struct deferred_work {
	/* Does it. Gives up when call->cancel is thrown. */
	void (*run)(void *context, const struct cancel *cancel);
	/*
	 * Answers `req`, exactly once; not called where there is none. `ended`: run() has returned, else it may still be going
	 * on in its own thread.
	 */
	void (*answer)(void *context, fuse_req_t req, bool ended);
	/* The last call: nobody uses `context` any more. */
	void (*release)(void *context);
};

enum err deferrals_new(struct deferrals **out, struct error *e);
/* Cancels everything and returns when the last thread is done. From then on nothing can be started. */
void deferrals_stop(struct deferrals *all);
/* After deferrals_stop(). */
void deferrals_free(struct deferrals *all);

/* Starts the work. `req` may be NULL: nobody waits. On an error both `context` and `req` are still the caller's. */
enum err deferred_start(struct deferrals *all, const struct deferred_work *work, void *context,
	fuse_req_t req, struct error *e);
