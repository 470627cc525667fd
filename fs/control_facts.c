/*
 * control_facts.c - the files that only tell: `id`, `status` and `stats`. None asks the sandbox.
 */
#include "fs/control_file.h"

#include "cache/cache.h"
#include "fs/stats_text.h"
#include "fs/status_text.h"

#include <errno.h>
#include <stdlib.h>

#define FACT_MAX ((size_t)64 * 1024)

struct fact_handle {
	struct control_handle base;
	pthread_mutex_t lock;
	struct buf text; /* as of the last read of its beginning; under the lock */
};

static struct control_handle *fact_open(struct control *c)
{
	struct fact_handle *h = calloc(1, sizeof *h);

	(void)c;
	if (!h)
		return NULL;
	*h = (struct fact_handle){ .text = BUF_INIT(FACT_MAX) };
	pthread_mutex_init(&h->lock, NULL);
	return &h->base;
}

static void fact_close(struct control_handle *base)
{
	struct fact_handle *h = (struct fact_handle *)base;

	buf_release(&h->text);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* A read of the beginning tells anew; what follows belongs to the same telling. */
static void fact_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off,
	void (*tell)(const struct control *c, struct buf *out))
{
	struct fact_handle *h = (struct fact_handle *)base;

	pthread_mutex_lock(&h->lock);
	if (off == 0 || !h->text.len) {
		buf_reset(&h->text);
		tell(base->control, &h->text);
	}
	if (h->text.failed)
		fuse_reply_err(req, ENOMEM);
	else
		control_reply_text(req, &h->text, size, off);
	pthread_mutex_unlock(&h->lock);
}

/* ---- id ---- */

static void tell_id(const struct control *c, struct buf *out)
{
	buf_printf(out, "%s\n", cache_sandbox(c->cache)->id);
}

static void id_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	fact_read(h, req, size, off, tell_id);
}

const struct control_file control_id = {
	.name = "id",
	.ino = CONTROL_INO_DIR + 2,
	.mode = 0444,
	.open = fact_open,
	.read = id_read,
	.close = fact_close,
};

/* ---- status ---- */

static void tell_status(const struct control *c, struct buf *out)
{
	struct cache_status status;

	cache_get_status(c->cache, &status);
	status_text(c->options.source, cache_sandbox(c->cache), &status, out);
}

static void status_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	fact_read(h, req, size, off, tell_status);
}

const struct control_file control_status = {
	.name = "status",
	.ino = CONTROL_INO_DIR + 3,
	.mode = 0444,
	.open = fact_open,
	.read = status_read,
	.close = fact_close,
};

/* ---- stats ---- */

static void tell_stats(const struct control *c, struct buf *out)
{
	struct cache_status status;

	cache_get_status(c->cache, &status);
	stats_text(cache_stats(c->cache), &status, out);
}

static void stats_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	fact_read(h, req, size, off, tell_stats);
}

const struct control_file control_stats = {
	.name = "stats",
	.ino = CONTROL_INO_DIR + 5,
	.mode = 0444,
	.open = fact_open,
	.read = stats_read,
	.close = fact_close,
};
