/*
 * sync.c - `sync`: any write to it sends all pending changes and has the cache revalidated.
 *
 * The sync happens when the process that opened the file closes it, or at the latest with the last
 * close. The close returns when all is done, with the error if there was one.
 */
#include "fs/control/file.h"

#include "cache/cache.h"
#include "fs/errmap.h"
#include "fs/handle_memory.h"
#include "fs/notifier.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <stdatomic.h>

struct sync_handle {
	struct control_handle base;
	atomic_bool asked;
};

struct sync_run {
	struct control *control;
	struct error error;
};

static void sync_run(void *context, const struct cancel *cancel)
{
	struct sync_run *run = context;
	struct cache *cache = run->control->cache;
	struct progress progress = progress_now();
	struct call call = {
		.progress_ms = cache_progress_ms(cache), .cancel = cancel, .progress = &progress
	};

	if (cache_sync(cache, &call, &run->error) == ERR_OK) {
		cache_check_all(cache, &call);
		return;
	}
	log_warn(LOG_CONTROL, "sync: %s", run->error.text);
	cache_invalidate_all(cache);
}

static void sync_answer(void *context, fuse_req_t req, bool ended)
{
	struct sync_run *run = context;

	if (ended)
		notifier_drain(run->control->notifier, CONTROL_FORGET_MS);
	fuse_reply_err(req, ended ? errmap_errno(run->error.kind) : EINTR);
}

static const struct deferred_work sync_work = {
	.run = sync_run,
	.answer = sync_answer,
	.release = free,
};

/* `req` may be NULL: no request waits. */
static enum err sync_start(struct control *c, fuse_req_t req, struct error *e)
{
	AUTO_FREE struct sync_run *run = calloc(1, sizeof *run);
	enum err kind;

	if (!run)
		return error_set(e, ERR_NO_MEMORY, "sync: out of memory");
	run->control = c;
	kind = deferred_start(c->deferrals, &sync_work, run, req, e);
	if (kind == ERR_OK)
		take(run);
	return kind;
}

static struct control_handle *sync_open(struct control *c, uint64_t number)
{
	(void)c, (void)number;
	return handle_memory_new(sizeof(struct sync_handle)); /* the base is the first member */
}

static void sync_write(struct control_handle *base, fuse_req_t req, const char *bytes, size_t size)
{
	(void)bytes;
	atomic_store(&((struct sync_handle *)base)->asked, true);
	fuse_reply_write(req, size);
}

static void sync_flush(struct control_handle *base, fuse_req_t req)
{
	struct sync_handle *h = (struct sync_handle *)base;
	struct error e = { 0 };

	if (!atomic_exchange(&h->asked, false) || sync_start(base->control, req, &e) != ERR_OK)
		fuse_reply_err(req, errmap_errno(e.kind));
}

static void sync_close(struct control_handle *base)
{
	struct sync_handle *h = (struct sync_handle *)base;
	struct error e = { 0 };

	if (atomic_load(&h->asked) && sync_start(base->control, NULL, &e) != ERR_OK)
		log_warn(LOG_CONTROL, "sync: %s", e.text);
	handle_memory_free(h);
}

const struct control_file control_sync = {
	.name = "sync",
	.ino = CONTROL_INO_SYNC,
	.mode = 0200,
	.open = sync_open,
	.write = sync_write,
	.flush = sync_flush,
	.close = sync_close,
};
