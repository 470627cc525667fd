#include "tools/masked.h"

#include <string.h>

enum match { MATCH_NONE, MATCH_PART, MATCH_WHOLE };

/* Compares `bytes` with one value; *len is the value's length. */
static enum match match_one(const char *value, const char *bytes, size_t left, size_t *len)
{
	*len = strlen(value);
	if (*len < MASKED_LEN_MIN || memcmp(value, bytes, *len < left ? *len : left))
		return MATCH_NONE;
	return *len <= left ? MATCH_WHOLE : MATCH_PART;
}

/* The longest value at that point hides values that are its beginning. */
static enum match match_any(
	const struct masked *m, const char *bytes, size_t left, bool is_end, size_t *len)
{
	enum match best = MATCH_NONE;
	size_t one_len;

	*len = 0;
	for (const char *const *value = m->values; value && *value; value++) {
		enum match match = match_one(*value, bytes, left, &one_len);

		if (match == MATCH_PART && !is_end)
			return MATCH_PART;
		if (match == MATCH_WHOLE && one_len > *len) {
			best = match;
			*len = one_len;
		}
	}
	return best;
}

static size_t show(
	const struct masked *m, const char *bytes, size_t left, bool is_end, struct buf *out)
{
	size_t at = 0, len;

	while (at < left) {
		enum match match = match_any(m, bytes + at, left - at, is_end, &len);

		if (match == MATCH_PART)
			break;
		if (match == MATCH_WHOLE)
			buf_add_string(out, "***");
		else
			buf_add(out, bytes + at, 1);
		at += match == MATCH_WHOLE ? len : 1;
	}
	return at;
}

bool masked_add(struct masked *m, const char *bytes, size_t len, struct buf *out)
{
	if (!buf_add(&m->kept, bytes, len))
		return false;
	buf_consume(&m->kept, show(m, buf_text(&m->kept), m->kept.len, false, out));
	return !out->failed;
}

void masked_end(struct masked *m, struct buf *out)
{
	show(m, buf_text(&m->kept), m->kept.len, true, out);
	if (m->kept.bytes)
		explicit_bzero(m->kept.bytes, m->kept.len);
	buf_release(&m->kept);
}
