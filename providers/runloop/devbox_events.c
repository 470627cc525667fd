#include "providers/runloop/devbox_events.h"

#include "providers/base/cleanup.h"

#include <string.h>

/* The largest event; the service's have a few kilobytes. */
#define EVENT_MAX ((size_t)16 * 1024 * 1024)

void devbox_events_init(struct devbox_events *g, const struct devbox_output *output)
{
	*g = (struct devbox_events){
		.output = output, .line = BUF_INIT(EVENT_MAX), .data = BUF_INIT(EVENT_MAX)
	};
}

void devbox_events_release(struct devbox_events *g)
{
	buf_release(&g->line);
	buf_release(&g->data);
}

void devbox_events_restart(struct devbox_events *g)
{
	buf_reset(&g->line);
	buf_reset(&g->data);
	g->is_error = g->is_idle = false;
}

/* ---- An event ---- */

static enum err take_error(struct devbox_events *g, struct json_object *json, struct error *e)
{
	g->is_idle = !strcmp(rest_text(json, "code", ""), "408");
	if (g->is_idle)
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "runloop:%s: reading %s: %s", g->output->id,
		g->output->name, rest_text(json, "message", "an error without a message"));
}

static enum err take_piece(struct devbox_events *g, struct json_object *json, struct error *e)
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

static enum err take_event(struct devbox_events *g, struct error *e)
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

/* ---- Lines ---- */

/* The text after NAME, a colon and one space; NULL: another field. */
static const char *value_of(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) || line[len] != ':')
		return NULL;
	line += len + 1;
	return *line == ' ' ? line + 1 : line;
}

static enum err take_line(struct devbox_events *g, struct error *e)
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

static enum err end_line(struct devbox_events *g, struct error *e)
{
	enum err kind;

	if (g->line.len && g->line.bytes[g->line.len - 1] == '\r')
		g->line.bytes[--g->line.len] = 0;
	kind = take_line(g, e);
	buf_reset(&g->line);
	return kind;
}

enum err devbox_events_take(void *context, const void *bytes, size_t len, struct error *e)
{
	struct devbox_events *g = context;
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
