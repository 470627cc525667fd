/*
 * request.h - one request of the kernel on its way through a worker.
 *
 * It carries the deadline of the calls it makes, and gives them up when the process that waits is being killed. Any other
 * signal is left alone: no local file system lets a rename fail because a timer went off.
 *
 * The reply is the end of a request. As soon as the kernel has the reply, the process that waited
 * goes on, and another worker may be given the last request of the handle (RELEASE) or of the inode
 * (FORGET) and free it, before the function that replied has returned. So in every file of fs:
 *
 *	- While a reply is sent no lock is held, and what is sent belongs to the worker: a copy, or
 *	  something that it holds a reference to.
 *	- After the reply neither the request, nor the handle, nor the inode is touched.
 *	- Work that goes on after the reply holds a reference to what it uses.
 *	- What a reply hands out (an entry, a handle) is the kernel's from then on. Only where the
 *	  reply has failed may the worker touch it, and takes it back.
 *	- A RELEASE or a FORGET has its handle or inode to itself.
 *	- A notice for the kernel carries numbers and copies of names, and is sent without a lock.
 *
 * A debug build poisons the handle (handle_memory.h).
 */
#pragma once

#include "fs/fs.h"
#include "providers/base/call.h"

#include <stdatomic.h>

struct request {
	struct call call;          /* for the calls it makes */
	struct switches *switches; /* where `cancel` is from */
	struct cancel cancel;
	atomic_bool is_given_up;
};

#define REQUEST_NONE                                                                               \
	{                                                                                          \
		.cancel.fd = -1                                                                    \
	}
#define AUTO_REQUEST __attribute__((cleanup(request_end)))

/* Before the first call. `r` stays where it is until after the reply: the end of the function that replies. */
void request_begin(struct request *r, fuse_req_t req);
void request_end(struct request *r);
