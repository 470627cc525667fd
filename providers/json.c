/*
 * Strings are escaped here and not by json-c, which copies them twice and takes ten times as long.
 * A command's output, up to 16 MiB of each stream, is written this way while a caller waits for it.
 */
#include "providers/json.h"

#include "providers/base/base64.h"
#include "providers/base/harmless.h"
#include "providers/base/utf8.h"

#include <inttypes.h>
#include <string.h>

/* The number of bytes from `bytes` on that need no escape. */
static size_t plain_run(const unsigned char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		bool plain = bytes[at] >= 0x20 && bytes[at] != '"' && bytes[at] != '\\';
		size_t step = 1;

		if (bytes[at] >= 0x7f)
			plain = harmless_next(bytes + at, len - at, &step);
		if (!plain)
			break;
		at += step;
	}
	return at;
}

/* No harmful character has more than four digits. */
static void add_point(struct buf *out, uint32_t point)
{
	static const char hex[] = "0123456789abcdef";

	buf_add(out,
		(char[]){ '\\', 'u', hex[point >> 12 & 15], hex[point >> 8 & 15],
			hex[point >> 4 & 15], hex[point & 15] },
		6);
}

/* Adds one escape, and returns the number of bytes that it stands for. */
static size_t add_escape(struct buf *out, const unsigned char *bytes, size_t len)
{
	bool valid;
	size_t step;

	switch (bytes[0]) {
	case '"': buf_add_string(out, "\\\""); return 1;
	case '\\': buf_add_string(out, "\\\\"); return 1;
	case '\n': buf_add_string(out, "\\n"); return 1;
	case '\r': buf_add_string(out, "\\r"); return 1;
	case '\t': buf_add_string(out, "\\t"); return 1;
	}
	step = utf8_next(bytes, len, &valid);
	if (valid)
		add_point(out, utf8_point(bytes, step));
	else
		buf_add_string(out, "\xef\xbf\xbd"); /* U+FFFD */
	return step;
}

static void add_string(struct buf *out, const unsigned char *bytes, size_t len)
{
	buf_add_byte(out, '"');
	for (size_t at = 0; at < len && !out->failed;) {
		size_t plain = plain_run(bytes + at, len - at);

		buf_add(out, bytes + at, plain);
		at += plain;
		if (at < len)
			at += add_escape(out, bytes + at, len - at);
	}
	buf_add_byte(out, '"');
}

static void add_key_bytes(struct json_writer *w, const char *key, size_t len)
{
	if (w->follows)
		buf_add_string(w->out, ", ");
	w->follows = true;
	if (key) {
		add_string(w->out, (const unsigned char *)key, len);
		buf_add_string(w->out, ": ");
	}
}

static void add_key(struct json_writer *w, const char *key)
{
	add_key_bytes(w, key, key ? strlen(key) : 0);
}

static void open_with(struct json_writer *w, const char *key, const char *bracket)
{
	json_put_raw(w, key, bracket);
	w->follows = false;
}

static void close_with(struct json_writer *w, char bracket)
{
	buf_add_byte(w->out, bracket);
	w->follows = true;
}

void json_put_open(struct json_writer *w, const char *key)
{
	open_with(w, key, "{");
}

void json_put_close(struct json_writer *w)
{
	close_with(w, '}');
}

void json_put_open_list(struct json_writer *w, const char *key)
{
	open_with(w, key, "[");
}

void json_put_close_list(struct json_writer *w)
{
	close_with(w, ']');
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

void json_put_base64(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
	json_put_raw(w, key, "\"");
	base64_encode(w->out, bytes, len);
	buf_add_byte(w->out, '"');
}

void json_put_path(struct json_writer *w, const char *path)
{
	size_t len = strlen(path);

	json_put_bytes(w, "path", path, len);
	if (!utf8_valid(path, len))
		json_put_base64(w, "path_b64", path, len);
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

void json_put_members(struct json_writer *w, const char *const *pairs)
{
	for (; *pairs; pairs++) {
		size_t name_len = strcspn(*pairs, "=");
		const char *value = *pairs + name_len + ((*pairs)[name_len] == '=');

		add_key_bytes(w, *pairs, name_len);
		add_string(w->out, (const unsigned char *)value, strlen(value));
	}
}

void json_put_pairs(struct json_writer *w, const char *key, const char *const *pairs)
{
	json_put_open(w, key);
	json_put_members(w, pairs);
	json_put_close(w);
}

void json_put_raw(struct json_writer *w, const char *key, const char *json)
{
	add_key(w, key);
	buf_add_string(w->out, json);
}
