/*
 * control_facts.c - the files that only tell: `id`, `status` and `stats`. None asks the sandbox.
 */
#include "fs/control_file.h"

#include "cache/cache.h"
#include "fs/stats_text.h"
#include "providers/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static const char *state_word(enum sandbox_state state)
{
	switch (state) {
	case SANDBOX_RUNNING: return "running";
	case SANDBOX_PAUSED: return "paused";
	case SANDBOX_STOPPED: return "stopped";
	}
	return "unknown";
}

static void put_sandbox(
	struct json_writer *w, const struct control *c, const struct cache_status *status)
{
	const struct sandbox_info *sandbox = cache_sandbox(c->cache);
	const char *source = c->options.source;

	json_put_text(w, "source", source);
	json_put_bytes(w, "provider", source, strcspn(source, ":"));
	json_put_text(w, "id", sandbox->id);
	json_put_text(w, "state", state_word(sandbox->state));
	json_put_text(w, "root", sandbox->root);
	if (status->expires_s < 0)
		json_put_null(w, "expires_s");
	else
		json_put_integer(w, "expires_s", status->expires_s);
}

static void put_last_error(struct json_writer *w, const struct cache_status *status)
{
	if (!status->last_error[0]) {
		json_put_null(w, "last_error");
		return;
	}
	json_put_open(w, "last_error");
	json_put_text(w, "text", status->last_error);
	json_put_integer(w, "age_ms", status->last_error_age_ms);
	json_put_close(w);
}

static void tell_status(const struct control *c, struct buf *out)
{
	struct json_writer w = { .out = out };
	struct cache_status status;

	cache_get_status(c->cache, &status);
	json_put_open(&w, NULL);
	put_sandbox(&w, c, &status);
	json_put_integer(&w, "pending_changes", (int64_t)status.pending_changes);
	json_put_integer(&w, "pending_bytes", (int64_t)status.pending_bytes);
	json_put_integer(&w, "parked_changes", (int64_t)status.parked_changes);
	json_put_integer(&w, "inodes_known", (int64_t)status.inodes_known);
	json_put_integer(&w, "names_known", (int64_t)status.names_known);
	put_last_error(&w, &status);
	json_put_close(&w);
	buf_add_byte(out, '\n');
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
