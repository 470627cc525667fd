/*
 * json.h - JSON text.
 *
 * The writer adds to a struct buf, whose ceiling and `failed` flag say whether all values found
 * room. So a row of calls is checked once, at its end. `key` is NULL outside an object. The result
 * is valid JSON for any bytes of a string: bytes that are not UTF-8 become U+FFFD. NUL and
 * characters that are harmful on a terminal (base/harmless.h) are escaped, so that a reader of the
 * JSON gets every character and a terminal none of those.
 */
#pragma once

#include "providers/base/buf.h"

struct json_writer {
	struct buf *out;
	bool follows; /* a value stands before the next one */
};

/* An object: the values put before its close belong to it. */
void json_put_open(struct json_writer *w, const char *key);
void json_put_close(struct json_writer *w);
/* A list: the values put before its close belong to it. */
void json_put_open_list(struct json_writer *w, const char *key);
void json_put_close_list(struct json_writer *w);

void json_put_bytes(struct json_writer *w, const char *key, const void *bytes, size_t len);
void json_put_text(struct json_writer *w, const char *key, const char *text);
void json_put_base64(struct json_writer *w, const char *key, const void *bytes, size_t len);
/* "path", and for a path that is not UTF-8 "path_b64" with its bytes: no name is lost. */
void json_put_path(struct json_writer *w, const char *path);
void json_put_integer(struct json_writer *w, const char *key, int64_t value);
void json_put_boolean(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);
/* Members "name=value", ended by NULL, of the open object; json_put_pairs(): an object of them. */
void json_put_members(struct json_writer *w, const char *const *pairs);
void json_put_pairs(struct json_writer *w, const char *key, const char *const *pairs);
/* `json` is the text of a value. */
void json_put_raw(struct json_writer *w, const char *key, const char *json);
