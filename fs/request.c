#include "fs/request.h"
#include "fs/caller.h"

static void on_interrupt(fuse_req_t req, void *context)
{
	struct request *r = context;

	(void)req;
	if (caller_is_dying(r->thread))
		cancel_throw(&r->cancel);
}

void request_begin(struct request *r, fuse_req_t req)
{
	const struct fs *fs = fuse_req_userdata(req);

	*r = (struct request){ .thread = fuse_req_ctx(req)->pid,
		.call.progress_ms = cache_progress_ms(fs->cache) };
	cache_used(fs->cache);
	if (cancel_init(&r->cancel, NULL))
		return; /* without a descriptor to spare it cannot be given up, only time out */
	r->call.cancel = &r->cancel;
	fuse_req_interrupt_func(req, on_interrupt, r);
}

void request_end(struct request *r)
{
	cancel_release(&r->cancel);
}
