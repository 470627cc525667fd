#include "providers/base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(unsigned char out[4], const unsigned char *in, size_t len)
{
	uint32_t group = (uint32_t)in[0] << 16;

	if (len > 1)
		group |= (uint32_t)in[1] << 8;
	if (len > 2)
		group |= in[2];
	out[0] = (unsigned char)alphabet[group >> 18];
	out[1] = (unsigned char)alphabet[group >> 12 & 63];
	out[2] = len > 1 ? (unsigned char)alphabet[group >> 6 & 63] : '=';
	out[3] = len > 2 ? (unsigned char)alphabet[group & 63] : '=';
}

bool base64_encode(struct buf *out, const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	unsigned char *text;
	size_t text_len = (len + 2) / 3 * 4;

	if (!len)
		return !out->failed;
	text = buf_reserve(out, text_len);
	if (!text)
		return false;
	for (size_t at = 0; at < len; at += 3, text += 4)
		encode_group(text, in + at, len - at);
	buf_filled(out, text_len);
	return true;
}

/* The six bits that a character stands for; 64: none. */
static uint32_t value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint32_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* How many bytes the four characters stand for; 0: they are not a group. */
static size_t decode_group(unsigned char out[3], const char *in, bool is_last)
{
	size_t padding = !is_last || in[3] != '=' ? 0 : in[2] != '=' ? 1 : 2;
	uint32_t group = 0;

	for (size_t i = 0; i < 4; i++) {
		uint32_t value = i < 4 - padding ? value_of(in[i]) : 0;

		if (value == 64)
			return 0;
		group = group << 6 | value;
	}
	if (group & ((1U << 8 * padding) - 1))
		return 0;
	out[0] = (unsigned char)(group >> 16);
	out[1] = (unsigned char)(group >> 8);
	out[2] = (unsigned char)group;
	return 3 - padding;
}

enum err base64_decode(struct buf *out, const char *text, size_t len, struct error *e)
{
	size_t before = out->len;

	if (len % 4)
		return error_set(e, ERR_PROTOCOL, "base64 of %zu characters is cut", len);
	for (size_t at = 0; at < len; at += 4) {
		unsigned char group[3];
		size_t got = decode_group(group, text + at, at + 4 == len);

		if (got && buf_add(out, group, got))
			continue;
		if (out->failed)
			return buf_check(out, "base64", e);
		out->len = before;
		return error_set(e, ERR_PROTOCOL, "not base64 at character %zu", at);
	}
	return ERR_OK;
}
