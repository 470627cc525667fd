#include "providers/json.h"

#include "providers/base/utf8.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

/* Strings pass through json-c in pieces of this size, so that a long one exists only once, in the result. */
#define PIECE_SIZE 16384

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Adds `text`, valid UTF-8, escaped, without the quotes. */
static void add_escaped(struct buf *out, const char *text, size_t len)
{
	struct json_object *string = json_object_new_string_len(text, (int)len);
	const char *quoted;
	size_t quoted_len;

	if (!string) {
		out->failed = true;
		return;
	}
	quoted = json_object_to_json_string_length(
		string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &quoted_len);
	if (quoted)
		buf_add(out, quoted + 1, quoted_len - 2);
	else
		out->failed = true;
	json_object_put(string);
}

static void add_string(struct buf *out, const unsigned char *bytes, size_t len)
{
	char piece[PIECE_SIZE];
	size_t used = 0;

	buf_add_byte(out, '"');
	for (size_t at = 0, step; at < len && !out->failed; at += step) {
		bool valid;

		step = utf8_next(bytes + at, len - at, &valid);
		if (used + 4 > sizeof piece) {
			add_escaped(out, piece, used);
			used = 0;
		}
		if (valid) {
			memcpy(piece + used, bytes + at, step);
			used += step;
		} else {
			memcpy(piece + used, replacement, sizeof replacement - 1);
			used += sizeof replacement - 1;
		}
	}
	add_escaped(out, piece, used);
	buf_add_byte(out, '"');
}

static void add_key(struct json_writer *w, const char *key)
{
	if (w->follows)
		buf_add_string(w->out, ", ");
	w->follows = true;
	if (key) {
		add_string(w->out, (const unsigned char *)key, strlen(key));
		buf_add_string(w->out, ": ");
	}
}

void json_put_open(struct json_writer *w, const char *key)
{
	json_put_raw(w, key, "{");
	w->follows = false;
}

void json_put_close(struct json_writer *w)
{
	buf_add_byte(w->out, '}');
	w->follows = true;
}

void json_put_bytes(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
	add_key(w, key);
	add_string(w->out, bytes, len);
}

void json_put_text(struct json_writer *w, const char *key, const char *text)
{
	json_put_bytes(w, key, text, strlen(text));
}

void json_put_integer(struct json_writer *w, const char *key, int64_t value)
{
	add_key(w, key);
	buf_printf(w->out, "%" PRId64, value);
}

void json_put_boolean(struct json_writer *w, const char *key, bool value)
{
	json_put_raw(w, key, value ? "true" : "false");
}

void json_put_null(struct json_writer *w, const char *key)
{
	json_put_raw(w, key, "null");
}

void json_put_raw(struct json_writer *w, const char *key, const char *json)
{
	add_key(w, key);
	buf_add_string(w->out, json);
}
