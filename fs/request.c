#include "fs/request.h"
#include "fs/caller.h"
#include "fs/switches.h"
#include "providers/base/cleanup.h"

#include <assert.h>

static void on_interrupt(fuse_req_t req, void *context)
{
	struct request *r = context;

	(void)req;
	if (!caller_is_dying(r->call.asker))
		return;
	r->is_given_up = true;
	cancel_throw(&r->cancel);
}

void request_begin(struct request *r, fuse_req_t req)
{
	const struct fs *fs = fuse_req_userdata(req);

	*r = (struct request){ .req = req,
		.switches = fs->switches,
		.cancel.fd = -1,
		.progress = progress_now(),
		.call = { .progress_ms = cache_progress_ms(fs->cache),
			.progress = &r->progress,
			.asker = fuse_req_ctx(req)->pid } };
	cache_used(fs->cache);
	/* without a free descriptor the request cannot be given up, only time out */
	if (switches_take(r->switches, &r->cancel, NULL))
		return;
	r->call.cancel = &r->cancel;
	fuse_req_interrupt_func(req, on_interrupt, r);
}

fuse_req_t request_end(struct request *r)
{
	fuse_req_t req = take(r->req);

	if (r->call.cancel)
		fuse_req_interrupt_func(req, NULL, NULL);
	if (r->call.cancel && !r->is_given_up)
		switches_give(r->switches, &r->cancel);
	cancel_release(&r->cancel);
	return req;
}

void request_expect_ended(const struct request *r)
{
	assert(!r->req);
}
