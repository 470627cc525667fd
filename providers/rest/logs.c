#include "providers/rest/logs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* "2026-11-27T20:15:42.250Z" for milliseconds, where the member is no text. */
static const char *time_of(struct json_object *line, const char *name, char out[64])
{
	int64_t at_ms = rest_integer(line, name, -1);
	const time_t at_s = at_ms / 1000;
	struct tm at;
	char text[40];

	if (at_ms < 0 || !gmtime_r(&at_s, &at) || !strftime(text, sizeof text, "%FT%T", &at))
		return rest_text(line, name, "");
	snprintf(out, 64, "%s.%03dZ", text, (int)(at_ms % 1000));
	return out;
}

static enum err pass(struct json_object *line, const struct rest_log *log, log_sink sink,
	void *context, struct error *e)
{
	char time[64];
	const char *text = rest_text(line, log->text, "");
	const struct log_line one = { .time = time_of(line, log->time, time),
		.kind = rest_text(line, log->kind, ""),
		.text = *text || !log->other_text ? text : rest_text(line, log->other_text, "") };

	return sink(context, &one, e);
}

enum err rest_log_pass(const struct rest *r, struct json_object *json, const struct rest_log *log,
	log_sink sink, void *context, struct error *e)
{
	struct json_object *lines = rest_member(json, log->lines);
	size_t count;
	enum err kind = ERR_OK;

	if (!json_object_is_type(lines, json_type_array))
		return error_set(e, ERR_PROTOCOL, "%s: a log without %s", r->vendor, log->lines);
	count = json_object_array_length(lines);
	for (size_t i = count > LOG_LINES_MAX ? count - LOG_LINES_MAX : 0; !kind && i < count; i++)
		kind = pass(
			json_object_array_get_idx(lines, log->is_newest_first ? count - 1 - i : i),
			log, sink, context, e);
	return kind;
}

enum err rest_logs(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	const struct rest_log *log, log_sink sink, void *context, struct error *e)
{
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = rest_perform(r, call, ask, &json, e);

	return kind ? kind : rest_log_pass(r, json, log, sink, context, e);
}
