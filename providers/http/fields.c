#include "providers/http/fields.h"

#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool add_text(struct buf *fields, const char *text, size_t len)
{
	return buf_add(fields, text, len) && buf_add_byte(fields, 0);
}

bool fields_add(struct buf *fields, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	const char *value = colon ? colon + 1 : NULL, *end = line + len;

	if (!colon || memchr(line, 0, len))
		return true;
	while (value < end && is_space(*value))
		value++;
	while (end > value && is_space(end[-1]))
		end--;
	return add_text(fields, line, (size_t)(colon - line)) &&
		add_text(fields, value, (size_t)(end - value));
}

const char *fields_find(const struct buf *fields, const char *name)
{
	const char *at = (const char *)fields->bytes, *end = at ? at + fields->len : NULL;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (!strcasecmp(at, name))
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}
