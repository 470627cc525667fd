/*
 * json_bound.h - how much memory the values of a JSON text would take, before any of it is taken.
 *
 * A text of 12 MB can hold 4 million empty objects, which take 3 GB as json-c has them. The sender
 * of a text must not choose our memory use: a text whose values would take more is not read at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of one answer, its text where that is kept, its strings and its values together. */
#define JSON_ANSWER_MAX ((size_t)64 * 1024 * 1024)

/* What a text costs as far as it has come. */
struct json_bound {
	size_t cost;
	bool is_in_string, is_behind_escape;
	bool is_no_json; /* texts in other quotes and comments, which json-c would read */
};

/*
 * The next bytes, which json-c reads only then: false when all so far take more than is set, or are
 * no JSON.
 */
bool json_bound_add(struct json_bound *b, const char *text, size_t len);

/* Whether json-c needs no more than that for a text that is kept, whether it is JSON or not. */
bool json_is_bounded(const char *text, size_t len);
