#include "providers/rest/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The characters of vendors' IDs. */
#define ID_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

void rest_put(struct json_object **value)
{
	json_object_put(*value);
	*value = NULL;
}

bool rest_parse(const struct buf *body, struct json_object **out)
{
	struct rest_reader reader;
	bool is_json;

	rest_reader_begin(&reader, body->len);
	is_json = rest_reader_add(&reader, buf_text(body), body->len, NULL) == ERR_OK &&
		rest_reader_end(&reader, out);
	rest_reader_release(&reader);
	if (!is_json)
		*out = NULL;
	return is_json;
}

/* NULL: absent, or of another type. */
static struct json_object *find(struct json_object *o, const char *name, enum json_type type)
{
	struct json_object *found;

	if (!json_object_object_get_ex(o, name, &found) || !json_object_is_type(found, type))
		return NULL;
	return found;
}

const char *rest_text(struct json_object *o, const char *name, const char *otherwise)
{
	struct json_object *found = find(o, name, json_type_string);
	const char *text = found ? json_object_get_string(found) : "";

	if (!found || strlen(text) != (size_t)json_object_get_string_len(found))
		return otherwise;
	return text;
}

void rest_find_text(const struct buf *body, const char *name, char *out, size_t room)
{
	const char *text = buf_text(body), *found = strstr(text, name);
	size_t len;

	*out = 0;
	if (!found || found == text || found[-1] != '"')
		return;
	text = found + strlen(name);
	text += *text == '"';
	text += strspn(text, " \t\r\n:");
	len = *text == '"' ? strspn(++text, ID_LETTERS) : 0;
	if (len && len < room && text[len] == '"')
		snprintf(out, room, "%.*s", (int)len, text);
}

int64_t rest_integer(struct json_object *o, const char *name, int64_t otherwise)
{
	struct json_object *found = find(o, name, json_type_int);

	return found ? json_object_get_int64(found) : otherwise;
}

bool rest_flag(struct json_object *o, const char *name, bool otherwise)
{
	struct json_object *found = find(o, name, json_type_boolean);

	return found ? json_object_get_boolean(found) : otherwise;
}

struct json_object *rest_member(struct json_object *o, const char *name)
{
	struct json_object *object = find(o, name, json_type_object);

	return object ? object : find(o, name, json_type_array);
}

struct json_object *rest_item(struct json_object *list, size_t index)
{
	if (!json_object_is_type(list, json_type_array) || index >= json_object_array_length(list))
		return NULL;
	return json_object_array_get_idx(list, index);
}

static void put_members(struct json_writer *w, const char *key, struct json_object *object)
{
	json_put_open(w, key);
	json_object_object_foreach(object, name, member)
	{
		rest_put_again(w, name, member);
	}
	json_put_close(w);
}

static void put_items(struct json_writer *w, const char *key, struct json_object *list)
{
	json_put_open_list(w, key);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		rest_put_again(w, NULL, json_object_array_get_idx(list, i));
	json_put_close_list(w);
}

static void put_double(struct json_writer *w, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof text, "%.17g", value);
	json_put_raw(w, key, isfinite(value) ? text : "null");
}

/* The depth of a value is limited by rest_parse(). */
void rest_put_again(struct json_writer *w, const char *key, struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_null: json_put_null(w, key); return;
	case json_type_boolean: json_put_boolean(w, key, json_object_get_boolean(value)); return;
	case json_type_double: put_double(w, key, json_object_get_double(value)); return;
	case json_type_int: json_put_integer(w, key, json_object_get_int64(value)); return;
	case json_type_object: put_members(w, key, value); return;
	case json_type_array: put_items(w, key, value); return;
	case json_type_string:
		json_put_bytes(w, key, json_object_get_string(value),
			(size_t)json_object_get_string_len(value));
		return;
	}
}

void rest_volumes(
	struct json_object *list, const char *name, const char *path, char *out, size_t room)
{
	struct json_object *item;
	size_t used = 0;

	*out = 0;
	for (size_t i = 0; (item = rest_item(list, i)); i++) {
		const char *of = rest_text(item, name, ""), *at = rest_text(item, path, "");
		size_t len = strlen(of) + strlen(at) + 2;

		if (!*of || strpbrk(of, " \n") || *at != '/' || strchr(at, '\n') ||
			used + len >= room)
			continue;
		used += (size_t)snprintf(out + used, room - used, "%s %s\n", of, at);
	}
}
