#include "providers/runloop/evictions.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"
#include "providers/runloop/devbox_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The largest line; an event has some hundred bytes. */
#define LINE_MAX_BYTES ((size_t)64 * 1024)
/* A silent stream may be a dead connection, so it is asked for again. Design decision. */
#define SILENT_MS 120000
/* The pause before the next stream, at first and at most. Design decision. */
#define PAUSE_MS     30000
#define PAUSE_MAX_MS 300000

struct evictions {
	const struct rest *rest;
	const char *id;
	int64_t wait_ms;
	struct cancel cancel;
	pthread_t thread;
	_Atomic int64_t deadline_ms; /* since 1970 by the service's clock; 0: none is known */
};

/* ---- An event ---- */

static void take_event(struct evictions *v, struct json_object *json)
{
	int64_t deadline_ms = rest_integer(json, "eviction_deadline_ms", 0);
	int64_t left_s = deadline_ms / 1000 - rest_now_s(v->rest);

	if (strcmp(rest_text(json, "devbox_id", ""), v->id) != 0 || left_s <= 0)
		return;
	if (atomic_exchange(&v->deadline_ms, deadline_ms) != deadline_ms)
		log_warn(LOG_PROVIDER,
			"runloop:%s: the service needs the machine and will suspend the devbox "
			"in %lld s",
			v->id, (long long)left_s);
}

/* Fields of other names and damaged lines have no meaning here. */
static void take_line(struct evictions *v, struct buf *line)
{
	AUTO_JSON struct json_object *json = NULL;
	AUTO_BUF struct buf data = BUF_INIT(LINE_MAX_BYTES);

	if (!strncmp(buf_text(line), "data:", 5)) {
		buf_add_string(&data, buf_text(line) + 5);
		rest_parse(&data, &json);
		take_event(v, json);
	}
	buf_reset(line);
}

struct reading {
	struct evictions *v;
	struct buf line;
};

static enum err take_bytes(void *context, const void *bytes, size_t len, struct error *e)
{
	struct reading *r = context;
	const char *at = bytes;

	for (; len; at++, len--) {
		if (*at == '\n')
			take_line(r->v, &r->line);
		else if (*at != '\r')
			buf_add_byte(&r->line, (unsigned char)*at);
	}
	return buf_check(&r->line, "a line of events", e);
}

/* ---- The stream ---- */

static enum err read_once(struct evictions *v, struct error *e)
{
	static const struct http_header accept = { .name = "Accept", .value = "text/event-stream" };
	const struct call call = {
		.progress_ms = SILENT_MS, .cancel = &v->cancel, .is_background = true
	};
	struct reading r = { v, BUF_INIT(LINE_MAX_BYTES) };
	struct devbox_request q;
	enum err kind = devbox_request_make(
		&q, HTTP_GET, "", "watching evictions", e, "%s", "/evictions/watch");

	q.ask.flags |= HTTP_OWN_CONNECTION;
	q.ask.headers = &accept;
	q.ask.headers_count = 1;
	q.ask.frame = &devbox_events_frame;
	if (!kind)
		kind = rest_stream(v->rest, &call, &q.ask, take_bytes, &r, e);
	buf_release(&r.line);
	return kind;
}

/* The service does not have it, or not for this account. */
static bool is_final(enum err kind)
{
	return kind == ERR_INTERRUPTED || kind == ERR_NOT_FOUND || kind == ERR_AUTH ||
		kind == ERR_INVALID || kind == ERR_UNSUPPORTED || kind == ERR_PROTOCOL;
}

/* false: the watch is to end. */
static bool pause_for(struct evictions *v, int64_t ms)
{
	const struct call pause = { .progress_ms = ms, .cancel = &v->cancel };

	return call_wait_fd(&pause, -1, 0, NULL) == ERR_TIMEOUT;
}

static void *watch(void *context)
{
	struct evictions *v = context;
	int64_t pause_ms = PAUSE_MS;
	enum err kind = ERR_OK;

	if (!pause_for(v, v->wait_ms))
		return NULL;
	do {
		struct error why = { 0 };

		kind = read_once(v, &why);
		if (kind && kind != ERR_INTERRUPTED)
			log_info(LOG_PROVIDER, "%s", why.text);
		pause_ms = !kind || kind == ERR_TIMEOUT ? PAUSE_MS
			: pause_ms * 2 < PAUSE_MAX_MS   ? pause_ms * 2
							: PAUSE_MAX_MS;
	} while (!is_final(kind) && pause_for(v, pause_ms));
	return NULL;
}

/* ---- Life ---- */

enum err evictions_new(struct evictions **out, const struct rest *r, const char *id,
	int64_t wait_ms, struct error *e)
{
	struct evictions *v = calloc(1, sizeof *v);
	enum err kind;
	int failure;

	if (!v)
		return error_set(e, ERR_NO_MEMORY, "runloop:%s", id);
	*v = (struct evictions){ .rest = r, .id = id, .wait_ms = wait_ms > 0 ? wait_ms : 1 };
	kind = cancel_init(&v->cancel, e);
	failure = kind ? 0 : thread_start(&v->thread, watch, v);
	if (failure) {
		cancel_release(&v->cancel);
		kind = error_errno(e, failure, "a thread for evictions");
	}
	if (kind)
		free(v);
	else
		*out = v;
	return kind;
}

void evictions_free(struct evictions *v)
{
	if (!v)
		return;
	cancel_throw(&v->cancel);
	pthread_join(v->thread, NULL);
	cancel_release(&v->cancel);
	free(v);
}

int64_t evictions_deadline_s(const struct evictions *v)
{
	int64_t deadline_s = v ? atomic_load(&v->deadline_ms) / 1000 : 0;

	return deadline_s > (v ? rest_now_s(v->rest) : 0) ? deadline_s : 0;
}
