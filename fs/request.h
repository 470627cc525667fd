/*
 * request.h - one request of the kernel on its way through a worker.
 *
 * A request carries the deadline of the calls it makes, and gives them up when the waiting process
 * is being killed. Any other signal is ignored: no local file system lets a rename fail because a
 * timer went off.
 *
 * The reply is the end of a request. As soon as the kernel has the reply, the process that waited
 * goes on. Another worker may then be given the last request of the handle (RELEASE) or of the
 * inode (FORGET) and free it, before the function that replied has returned. So in every file of
 * fs:
 *
 *	- While a reply is sent no lock is held, and the data sent belongs to the worker: a copy, or
 *	  something that it holds a reference to.
 *	- No interrupt reaches a worker that has begun to reply: request_end().
 *	- After the reply neither the request, nor the handle, nor the inode is touched.
 *	- Work that goes on after the reply holds a reference to what it uses.
 *	- An entry or a handle in a reply is the kernel's from then on. Only where the reply has
 *	  failed may the worker touch it, and takes it back.
 *	- A RELEASE or a FORGET has its handle or inode to itself.
 *	- A notice for the kernel carries numbers and copies of names, and is sent without a lock.
 *
 * A debug build poisons the handle (handle_memory.h).
 */
#pragma once

#include "fs/fs.h"
#include "providers/base/call.h"

#include <stdbool.h>

struct request {
	fuse_req_t req;            /* NULL: not begun, or ended */
	struct call call;          /* for the calls that the request makes */
	struct progress progress;  /* one deadline for all calls of the waiting process */
	struct switches *switches; /* which `cancel` is from */
	struct cancel cancel;
	bool is_given_up; /* `cancel` was thrown; changed while an interrupt is handled */
};

#define REQUEST_NONE                                                                               \
	{                                                                                          \
		.cancel.fd = -1                                                                    \
	}
#define AUTO_REQUEST __attribute__((cleanup(request_expect_ended)))

/* To be called before the first call. `r` must not move until request_end(). */
void request_begin(struct request *r, fuse_req_t req);
/*
 * Before the reply, which goes to the result: `fuse_reply_write(request_end(&r), size)`. An
 * interrupt that is being handled is waited for, and a later one does not reach `r`.
 */
fuse_req_t request_end(struct request *r);
/* For AUTO_REQUEST. A request that was begun and not ended is a bug of ours: aborts. */
void request_expect_ended(const struct request *r);
