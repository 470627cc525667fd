/*
 * Answers of control planes: JSON, and how each vendor reads it; a time; a header; the text of a
 * shell between marks. The input's first byte says which; the result must be sound for any text.
 */
#include "providers/aio/verdict.h"
#include "providers/base/cleanup.h"
#include "providers/daytona/shell_text.h"
#include "providers/e2b/control_plane_json.h"
#include "providers/http/fields.h"
#include "providers/langsmith/box.h"
#include "providers/langsmith/verdict.h"
#include "providers/runloop/devbox.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_S 1800000000

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void read_box(struct json_object *json)
{
	struct box box;

	if (box_parse(&box, json, NOW_S, NULL) == ERR_OK)
		must(box_check_id(box.id, NULL) == ERR_OK && box_ends_s(&box) >= -1);
}

static void read_devbox(struct json_object *json)
{
	struct devbox devbox;

	if (devbox_parse(&devbox, json, NULL) == ERR_OK)
		must(devbox_is_id(devbox.id) && devbox.phase <= DEVBOX_ENDED);
}

/* A refusal stays an error, whatever its words are. */
static void read_refusal(struct json_object *json, const struct buf *text)
{
	const struct rest r = { .vendor = "vendor" };
	const struct rest_ask ask = { .path = "/execute", .what = "asking", .id = "id" };
	const struct http_answer answer = { .status = 422, .body = *text };
	struct error e = { 0 };

	must(langsmith_verdict(&r, &ask, 422, json, &answer, &e) != ERR_OK);
	must(e.kind != ERR_OK);
	devbox_verdict(&r, &ask, 422, json, &answer, &e);
	aio_verdict(&r, &ask, 200, json, &answer, &e);
	must(aio_verdict(&r, &ask, 422, json, &answer, &e) != ERR_OK);
}

static enum err count_entry(void *context, const struct sandbox_entry *entry, struct error *e)
{
	size_t *count = context;

	(void)e;
	must(entry->unread || (*entry->id && entry->expires_s >= -1));
	++*count;
	return ERR_OK;
}

static void read_plane(const struct buf *text)
{
	struct plane_sandbox sandbox;
	char words[200];
	size_t count = 0;

	if (plane_json_sandbox(text, NOW_S, &sandbox, NULL) == ERR_OK)
		must(*sandbox.id);
	plane_json_list(text, NOW_S, count_entry, &count, NULL);
	plane_json_message(text, words, sizeof words);
	must(strlen(words) < sizeof words);
}

static void read_json(const struct buf *text)
{
	AUTO_JSON struct json_object *json = NULL;

	rest_parse(text, &json);
	read_box(json);
	read_devbox(json);
	read_refusal(json, text);
	read_plane(text);
}

/* Each line is a header; one that was kept can be found. */
static void read_fields(const struct buf *text)
{
	AUTO_BUF struct buf fields = BUF_INIT(FIELDS_MAX);
	const char *at = buf_text(text), *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;

		must(fields_add(&fields, at, (size_t)(next - at)));
		at = next;
	}
	must(!fields.len || fields_find(&fields, (const char *)fields.bytes) != NULL);
}

static void read_shell_text(const struct buf *text)
{
	const struct shell_text_piece all = { buf_text(text), text->len };
	struct shell_text_piece out, err;

	if (!shell_text_split(&all, "mark", &out, &err))
		return;
	must(out.text >= all.text && out.text + out.len <= err.text);
	must(err.text + err.len <= all.text + all.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf text = BUF_INIT(size + 1);

	if (size < 2 || !buf_add(&text, data + 1, size - 1))
		return 0;
	switch (data[0] % 4) {
	case 0: read_json(&text); break;
	case 1: must(rest_seconds_until(buf_text(&text), NOW_S) >= -1); break;
	case 2: read_fields(&text); break;
	default: read_shell_text(&text); break;
	}
	return 0;
}
