#include "providers/runloop/devbox_output.h"

#include "providers/base/cleanup.h"
#include "providers/runloop/devbox_api.h"

#include <string.h>

/* Of one event. The service's are a few kilobytes. */
#define EVENT_MAX ((size_t)16 * 1024 * 1024)
/* Breaks in a row without a byte between them. */
#define BREAKS_MAX 5
/* The service's streams are idle for 30 s before they are ended: one that ends sooner is a break like others. */
#define IDLE_MIN_MS 200

struct reading {
	const struct devbox_output *output;
	uint64_t at; /* bytes passed on */
	struct buf line, data;
	bool is_error;    /* of the event that is being read */
	bool is_idle;     /* the stream was ended though there may be more */
	bool has_refused; /* whoever takes the output, or we the events: no break */
};

static void reading_release(struct reading *g)
{
	buf_release(&g->line);
	buf_release(&g->data);
}
#define AUTO_READING __attribute__((cleanup(reading_release)))

/* ---- An event ---- */

static enum err take_error(struct reading *g, struct json_object *json, struct error *e)
{
	g->is_idle = !strcmp(rest_text(json, "code", ""), "408");
	if (g->is_idle)
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "runloop:%s: reading %s: %s", g->output->id,
		g->output->name, rest_text(json, "message", "an error without a message"));
}

static enum err take_piece(struct reading *g, struct json_object *json, struct error *e)
{
	struct json_object *text;
	size_t len;
	enum err kind;

	if (!json_object_object_get_ex(json, "output", &text) ||
		!json_object_is_type(text, json_type_string))
		return error_set(e, ERR_PROTOCOL, "runloop:%s: reading %s: an event without output",
			g->output->id, g->output->name);
	len = (size_t)json_object_get_string_len(text);
	kind = g->output->sink(
		g->output->sink_context, g->output->stream, json_object_get_string(text), len, e);
	g->at += len;
	return kind;
}

static enum err take_event(struct reading *g, struct error *e)
{
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ERR_OK;

	if (g->data.len)
		rest_parse(&g->data, &json);
	if (g->is_error)
		kind = take_error(g, json, e);
	else if (g->data.len)
		kind = take_piece(g, json, e);
	g->has_refused = kind && !g->is_error;
	g->is_error = false;
	buf_reset(&g->data);
	return kind;
}

/* ---- Its lines ---- */

/* What follows NAME and a colon, and one space; NULL: another field. */
static const char *value_of(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) || line[len] != ':')
		return NULL;
	line += len + 1;
	return *line == ' ' ? line + 1 : line;
}

static enum err take_line(struct reading *g, struct error *e)
{
	const char *line = buf_text(&g->line), *value;

	if (!*line)
		return take_event(g, e);
	value = value_of(line, "event");
	if (value)
		g->is_error = !strcmp(value, "error");
	value = value_of(line, "data");
	if (value && g->data.len)
		buf_add_byte(&g->data, '\n');
	if (value)
		buf_add_string(&g->data, value);
	return buf_check(&g->data, "an event", e);
}

static enum err end_line(struct reading *g, struct error *e)
{
	enum err kind;

	if (g->line.len && g->line.bytes[g->line.len - 1] == '\r')
		g->line.bytes[--g->line.len] = 0;
	kind = take_line(g, e);
	buf_reset(&g->line);
	return kind;
}

static enum err take_bytes(void *context, const void *bytes, size_t len, struct error *e)
{
	struct reading *g = context;
	const char *at = bytes, *end = at + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *until = newline ? newline : end;
		enum err kind;

		buf_add(&g->line, at, (size_t)(until - at));
		kind = buf_check(&g->line, "a line of events", e);
		if (!kind && newline)
			kind = end_line(g, e);
		if (kind)
			return kind;
		at = newline ? newline + 1 : end;
	}
	return ERR_OK;
}

/* ---- Its streams ---- */

static enum err read_once(
	struct reading *g, const struct rest *r, const struct call *call, struct error *e)
{
	static const struct http_header accept = { .name = "Accept", .value = "text/event-stream" };
	const struct devbox_output *o = g->output;
	struct devbox_request q;
	enum err kind = devbox_request_make(&q, HTTP_GET, o->id, "reading output", e,
		"/executions/%s/stream_%s_updates?offset=%llu", o->execution_id, o->name,
		(unsigned long long)g->at);

	buf_reset(&g->line);
	buf_reset(&g->data);
	g->is_error = g->is_idle = false;
	q.ask.flags = HTTP_REPEATABLE;
	q.ask.headers = &accept;
	q.ask.headers_count = 1;
	return kind ? kind : rest_stream(r, call, &q.ask, take_bytes, g, e);
}

static bool is_break(const struct reading *g, enum err kind)
{
	return g->is_idle || (kind == ERR_UNREACHABLE && !g->has_refused);
}

/* Whether there was nothing wrong with that: it brought something, or had nothing to bring for long. */
static bool has_worked(const struct reading *g, uint64_t before, int64_t began_ms)
{
	return g->at > before || (g->is_idle && monotonic_ms() - began_ms >= IDLE_MIN_MS);
}

enum err devbox_output_read(const struct devbox_output *output, const struct rest *r,
	const struct call *call, struct error *e)
{
	AUTO_READING struct reading g = {
		.output = output, .line = BUF_INIT(EVENT_MAX), .data = BUF_INIT(EVENT_MAX)
	};

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
