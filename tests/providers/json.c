#include "providers/json.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

TestSuite(json, .timeout = 300);

Test(json, an_object_of_every_kind_of_value)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);
	struct json_writer w = { .out = &out };

	json_put_open(&w, NULL);
	json_put_text(&w, "text", "a/\"b\"\n");
	json_put_integer(&w, "most", INT64_MIN);
	json_put_boolean(&w, "yes", true);
	json_put_open(&w, "inner");
	json_put_close(&w);
	json_put_null(&w, "nothing");
	json_put_raw(&w, "raw", "[1]");
	json_put_open_list(&w, "list");
	json_put_integer(&w, NULL, 1);
	json_put_open(&w, NULL);
	json_put_close(&w);
	json_put_close_list(&w);
	json_put_close(&w);
	cr_assert(not(out.failed));
	cr_assert(eq(str, (char *)buf_text(&out),
		"{\"text\": \"a/\\\"b\\\"\\n\", \"most\": -9223372036854775808, \"yes\": true, "
		"\"inner\": {}, \"nothing\": null, \"raw\": [1], \"list\": [1, {}]}"));
}

static void expect_string(const char *bytes, size_t len, const char *wanted)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);

	json_put_bytes(&(struct json_writer){ .out = &out }, NULL, bytes, len);
	cr_expect(eq(str, (char *)buf_text(&out), (char *)wanted));
}

Test(json, a_string_is_valid_whatever_its_bytes)
{
	expect_string("", 0, "\"\"");
	expect_string("a\0b", 3, "\"a\\u0000b\"");
	expect_string("\x1b[0m\x7f", 5, "\"\\u001b[0m\\u007f\"");
	expect_string("\xc2\x9b\xe2\x80\xae", 5, "\"\\u009b\\u202e\"");
	expect_string("\u00e4\U0001F600", 6, "\"\u00e4\U0001F600\"");
	expect_string("\xff\xe2\x82z", 4, "\"\xef\xbf\xbd\xef\xbf\xbdz\"");
}

/* The text as a reader parses it; json-c checks UTF-8. */
static struct json_object *read_back(const struct buf *text)
{
	struct json_tokener *reader = json_tokener_new();
	struct json_object *value;

	json_tokener_set_flags(reader, JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(reader, buf_text(text), (int)text->len + 1);
	json_tokener_free(reader);
	return value;
}

Test(json, a_long_text_survives_the_pieces_it_is_written_in)
{
	AUTO_BUF struct buf text = BUF_INIT(1 << 20);
	AUTO_BUF struct buf out = BUF_INIT(4 << 20);
	struct json_object *value;

	for (int i = 0; i < 50000; i++) {
		buf_add_string(&text, i % 3 ? "\u20ac" : "x");
		buf_add_byte(&text, (unsigned char)(i % 7 ? 'y' : 0));
	}
	json_put_bytes(&(struct json_writer){ .out = &out }, NULL, text.bytes, text.len);
	value = read_back(&out);
	cr_assert(ne(ptr, value, NULL));
	cr_assert(eq(sz, (size_t)json_object_get_string_len(value), text.len));
	cr_assert(zero(int, memcmp(json_object_get_string(value), text.bytes, text.len)));
	json_object_put(value);
}

Test(json, random_bytes_are_valid_json)
{
	AUTO_BUF struct buf out = BUF_INIT(1 << 20);
	unsigned char bytes[5000];

	srandom(1);
	for (int round = 0; round < 50; round++) {
		struct json_object *value;

		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (unsigned char)random();
		buf_reset(&out);
		json_put_bytes(&(struct json_writer){ .out = &out }, NULL, bytes, sizeof bytes);
		value = read_back(&out);
		cr_assert(ne(ptr, value, NULL), "round %d", round);
		json_object_put(value);
	}
}

Test(json, a_full_buffer_is_reported)
{
	AUTO_BUF struct buf out = BUF_INIT(10);

	json_put_text(&(struct json_writer){ .out = &out }, NULL, "more than ten bytes");
	cr_assert(out.failed);
}
