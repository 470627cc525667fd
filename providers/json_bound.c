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

/* Behind the string that begins before `at`. */
static size_t skip_string(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '"')
		at += text[at] == '\\' ? 2 : 1;
	return at + 1;
}

/*
 * A key and a value have one of these in front of them or behind them, but for the first. Texts in
 * other quotes, and comments, are no JSON, but json-c would read them.
 */
static size_t cost_of(char c)
{
	switch (c) {
	case '\'':
	case '/': return SIZE_MAX / 2;
	case '{': return OBJECT_COST;
	case '[': return LIST_COST;
	case ':': return KEY_COST;
	case ',': return VALUE_COST;
	default: return 0;
	}
}

bool json_is_bounded(const char *text, size_t len)
{
	size_t cost = 0;

	for (size_t at = 0; at < len && cost <= JSON_VALUES_MAX;) {
		if (text[at] == '"')
			at = skip_string(text, len, at + 1);
		else
			cost += cost_of(text[at++]);
	}
	return cost <= JSON_VALUES_MAX;
}
