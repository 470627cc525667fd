/*
 * facts.c - the files that only report: `id`, `status` and `stats`. None asks the sandbox.
 *
 * Only the mount's owner may read them, whichever users have access to the mount: the texts have
 * names of files, addresses and commands.
 */
#include "fs/control/text.h"

#include "cache/cache.h"
#include "fs/control/stats_text.h"
#include "fs/control/status_text.h"

/* ---- id ---- */

static enum err tell_id(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e)
{
	(void)number, (void)call, (void)e;
	text_add_line(out, cache_sandbox(c->cache)->id);
	return ERR_OK;
}

static void id_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	text_read(h, req, size, off, tell_id);
}

const struct control_file control_id = {
	.name = "id",
	.ino = CONTROL_INO_ID,
	.mode = 0400,
	.open = text_open,
	.read = id_read,
	.close = text_close,
};

/* ---- status ---- */

static enum err tell_status(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e)
{
	struct cache_status status;
	struct sandbox_info sandbox;

	(void)number, (void)call, (void)e;
	cache_get_status(c->cache, &status);
	cache_describe_sandbox(c->cache, &sandbox);
	status_text(c->options.source, &sandbox, &status, out);
	return ERR_OK;
}

static void status_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	text_read(h, req, size, off, tell_status);
}

const struct control_file control_status = {
	.name = "status",
	.ino = CONTROL_INO_STATUS,
	.mode = 0400,
	.open = text_open,
	.read = status_read,
	.close = text_close,
};

/* ---- stats ---- */

static enum err tell_stats(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e)
{
	struct cache_status status;

	(void)number, (void)call, (void)e;
	cache_get_status(c->cache, &status);
	stats_text(cache_stats(c->cache), &status, out);
	return ERR_OK;
}

static void stats_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	text_read(h, req, size, off, tell_stats);
}

const struct control_file control_stats = {
	.name = "stats",
	.ino = CONTROL_INO_STATS,
	.mode = 0400,
	.open = text_open,
	.read = stats_read,
	.close = text_close,
};
