/*
 * request.h - one request of the kernel on its way through a worker.
 *
 * It carries the deadline of the calls it makes, and gives them up when the process that waits is being killed. Any other
 * signal is left alone: no local file system lets a rename fail because a timer went off.
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
