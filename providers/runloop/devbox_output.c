#include "providers/runloop/devbox_output.h"

#include "providers/runloop/devbox_api.h"
#include "providers/runloop/devbox_events.h"

/* Breaks in a row without a byte between them. */
#define BREAKS_MAX 5
/*
 * The service's streams are idle for 30 s before they are ended: one that ends sooner is a break
 * like others.
 */
#define IDLE_MIN_MS 200

static enum err read_once(
	struct devbox_events *g, const struct rest *r, const struct call *call, struct error *e)
{
	static const struct http_header accept = { .name = "Accept", .value = "text/event-stream" };
	const struct devbox_output *o = g->output;
	struct devbox_request q;
	enum err kind = devbox_request_make(&q, HTTP_GET, o->id, "reading output", e,
		"/executions/%s/stream_%s_updates?offset=%llu", o->execution_id, o->name,
		(unsigned long long)g->at);

	devbox_events_restart(g);
	q.ask.flags |= HTTP_REPEATABLE;
	q.ask.headers = &accept;
	q.ask.headers_count = 1;
	q.ask.frame = &devbox_events_frame;
	return kind ? kind : rest_stream(r, call, &q.ask, devbox_events_take, g, e);
}

static bool is_break(const struct devbox_events *g, enum err kind)
{
	return g->is_idle || (kind == ERR_UNREACHABLE && !g->has_refused);
}

/* Whether the stream was in order: it brought bytes, or it was idle for long. */
static bool has_worked(const struct devbox_events *g, uint64_t before, int64_t began_ms)
{
	return g->at > before || (g->is_idle && monotonic_ms() - began_ms >= IDLE_MIN_MS);
}

enum err devbox_output_read(const struct devbox_output *output, const struct rest *r,
	const struct call *call, struct error *e)
{
	AUTO_DEVBOX_EVENTS struct devbox_events g;

	devbox_events_init(&g, output);
	for (unsigned breaks = 0;;) {
		uint64_t before = g.at;
		int64_t began_ms = monotonic_ms();
		struct error why = { 0 };
		enum err kind = read_once(&g, r, call, &why);

		breaks = has_worked(&g, before, began_ms) ? 0 : breaks + 1;
		if (is_break(&g, kind) && breaks < BREAKS_MAX)
			continue;
		if (!kind && g.is_idle)
			kind = error_set(&why, ERR_UNREACHABLE,
				"runloop:%s: reading %s: it breaks off all the time", output->id,
				output->name);
		return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
	}
}
