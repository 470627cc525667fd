#include "providers/base/utf8.h"

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Bytes of the character that starts with `first`; 0: none does. */
static size_t length_after(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* The second byte decides about overlong forms, surrogates and what is past U+10FFFF. */
static bool second_ok(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0: return second >= 0xa0 && second <= 0xbf;
	case 0xed: return second >= 0x80 && second <= 0x9f;
	case 0xf0: return second >= 0x90 && second <= 0xbf;
	case 0xf4: return second >= 0x80 && second <= 0x8f;
	default: return is_continuation(second);
	}
}

size_t utf8_next(const unsigned char *bytes, size_t len, bool *valid)
{
	size_t want = length_after(bytes[0]);
	size_t have = 1;

	if (want > 1 && len > 1 && second_ok(bytes[0], bytes[1]))
		for (have = 2; have < want && have < len && is_continuation(bytes[have]);)
			have++;
	*valid = have == want;
	return have;
}

uint32_t utf8_point(const unsigned char *bytes, size_t len)
{
	uint32_t point = len > 1 ? bytes[0] & (0xffu >> (len + 1)) : bytes[0];

	for (size_t i = 1; i < len; i++)
		point = point << 6 | (bytes[i] & 0x3f);
	return point;
}

bool utf8_valid(const void *bytes, size_t len)
{
	const unsigned char *text = bytes;
	bool valid = true;

	for (size_t at = 0; at < len && valid;)
		at += utf8_next(text + at, len - at, &valid);
	return valid;
}

size_t utf8_cut_at_end(const void *bytes, size_t len)
{
	const unsigned char *end = (const unsigned char *)bytes + len;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		bool valid;

		if (is_continuation(end[-(ptrdiff_t)back]))
			continue;
		return length_after(end[-(ptrdiff_t)back]) > back &&
				utf8_next(end - back, back, &valid) == back
			? back
			: 0;
	}
	return 0;
}

size_t utf8_cut_at_start(const void *bytes, size_t len)
{
	const unsigned char *start = bytes;
	size_t cut = 0;

	while (cut < 3 && cut < len && is_continuation(start[cut]))
		cut++;
	return cut;
}
