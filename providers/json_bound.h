/*
 * json_bound.h - how much memory the values of a JSON text would take, before any of it is taken.
 *
 * A text of 12 MB can hold 4 million empty objects, which take 3 GB as json-c has them. The sender
 * of a text must not choose our memory use: a text whose values would take more is not read at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The most memory of one answer: its text where that is kept, its strings and its values together.
 */
#define JSON_ANSWER_MAX ((size_t)64 * 1024 * 1024)

/* The cost of a text so far. */
struct json_bound {
	size_t cost;
	bool is_in_string, is_behind_escape;
	bool is_no_json; /* quotes of another kind and comments, which json-c would accept */
};

/*
 * The next bytes, before json-c reads them. false: the text so far takes more than JSON_ANSWER_MAX,
 * or is no JSON.
 */
bool json_bound_add(struct json_bound *b, const char *text, size_t len);

/* Whether json-c needs no more than JSON_ANSWER_MAX for a text that is kept, JSON or not. */
bool json_is_bounded(const char *text, size_t len);
