#include "providers/json_bound.h"

#include <stdint.h>

/*
 * At least what json-c takes of malloc() for each, as tests/providers/json_bound.c measures: an
 * object has a table of 16 places at once, a list one of 32. Both grow to twice the size, and for a
 * moment the old one is there, too.
 */
#define OBJECT_COST ((size_t)900)
#define LIST_COST   ((size_t)450)
#define KEY_COST    ((size_t)260)
#define VALUE_COST  ((size_t)120)

/* A string is gathered before it gets memory of its own. */
#define LETTER_COST ((size_t)2)

/* Each key and each value, but for the first, has one of these characters before or behind it. */
static size_t cost_of(char c)
{
	switch (c) {
	case '{': return OBJECT_COST;
	case '[': return LIST_COST;
	case ':': return KEY_COST;
	case ',': return VALUE_COST;
	default: return LETTER_COST;
	}
}

static void take_letter(struct json_bound *b, char c)
{
	b->cost += LETTER_COST;
	if (b->is_behind_escape)
		b->is_behind_escape = false;
	else if (c == '\\')
		b->is_behind_escape = true;
	else if (c == '"')
		b->is_in_string = false;
}

bool json_bound_add(struct json_bound *b, const char *text, size_t len)
{
	for (size_t at = 0; at < len && b->cost <= JSON_ANSWER_MAX; at++) {
		if (b->is_in_string) {
			take_letter(b, text[at]);
		} else {
			b->is_in_string = text[at] == '"';
			b->is_no_json |= text[at] == '\'' || text[at] == '/';
			b->cost += cost_of(text[at]);
		}
	}
	return b->cost <= JSON_ANSWER_MAX && !b->is_no_json;
}

bool json_is_bounded(const char *text, size_t len)
{
	struct json_bound bound = { .cost = len };

	return json_bound_add(&bound, text, len);
}
