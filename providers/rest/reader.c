#include "providers/rest/reader.h"

#include "providers/base/utf8.h"

#include <string.h>

/* Answers have a few levels. */
#define DEPTH_MAX 16

void rest_reader_begin(struct rest_reader *r, size_t kept)
{
	*r = (struct rest_reader){ .bound = { .cost = kept },
		.tokener = json_tokener_new_ex(DEPTH_MAX) };
	r->is_none = !r->tokener;
	/* Not strict: json-c 0.18 would then refuse every byte of a text above 0x7f. */
	if (r->tokener)
		json_tokener_set_flags(r->tokener, JSON_TOKENER_VALIDATE_UTF8);
}

void rest_reader_release(struct rest_reader *r)
{
	if (r->tokener)
		json_tokener_free(r->tokener);
	r->tokener = NULL;
	rest_put(&r->value);
}

static void check_blank(struct rest_reader *r, const char *bytes, size_t len)
{
	for (size_t at = 0; at < len; at++)
		r->is_none |= !bytes[at] || !strchr(" \t\r\n", bytes[at]);
}

/* Parses whole characters: json-c checks the bytes of each call separately. */
static void parse(struct rest_reader *r, const char *bytes, size_t len)
{
	size_t read;

	if (r->is_none || !len)
		return;
	if (r->is_whole) {
		check_blank(r, bytes, len);
		return;
	}
	r->value = json_tokener_parse_ex(r->tokener, bytes, (int)len);
	if (json_tokener_get_error(r->tokener) == json_tokener_continue)
		return;
	r->is_whole = json_tokener_get_error(r->tokener) == json_tokener_success;
	r->is_none = !r->is_whole;
	read = json_tokener_get_parse_end(r->tokener);
	if (r->is_whole && read < len)
		check_blank(r, bytes + read, len - read);
}

/* The number of bytes that belong to the character that was cut. */
static size_t complete_cut(struct rest_reader *r, const char *bytes, size_t len)
{
	size_t more = r->cut_len ? utf8_cut_at_start(bytes, len) : 0;

	if (!r->cut_len)
		return 0;
	if (more > sizeof r->cut - r->cut_len)
		more = sizeof r->cut - r->cut_len;
	memcpy(r->cut + r->cut_len, bytes, more);
	r->cut_len += more;
	/* The character may need more bytes still; an incomplete one is no JSON. */
	if (more == len && utf8_cut_at_end(r->cut, r->cut_len))
		return more;
	parse(r, (const char *)r->cut, r->cut_len);
	r->cut_len = 0;
	return more;
}

enum err rest_reader_add(struct rest_reader *r, const char *bytes, size_t len, struct error *e)
{
	if (r->is_none)
		r->bound.cost += len;
	else
		r->is_none = !json_bound_add(&r->bound, bytes, len);
	if (r->bound.cost > JSON_ANSWER_MAX)
		return error_set(e, ERR_TOO_LARGE,
			"an answer that takes more than %zu MB of memory",
			JSON_ANSWER_MAX / (1024 * 1024));
	if (r->is_none || !len)
		return ERR_OK;
	size_t taken = complete_cut(r, bytes, len);

	bytes += taken;
	len -= taken;
	if (!len)
		return ERR_OK;
	size_t cut = utf8_cut_at_end(bytes, len);

	parse(r, bytes, len - cut);
	memcpy(r->cut, bytes + len - cut, cut);
	r->cut_len = cut;
	return ERR_OK;
}

bool rest_reader_end(struct rest_reader *r, struct json_object **out)
{
	*out = NULL;
	if (r->cut_len)
		r->is_none = true;
	/* A NUL ends a number, which has no end of its own. */
	if (!r->is_none && !r->is_whole) {
		r->value = json_tokener_parse_ex(r->tokener, "", 1);
		r->is_whole = json_tokener_get_error(r->tokener) == json_tokener_success;
	}
	if (r->is_none || !r->is_whole)
		return false;
	*out = r->value;
	r->value = NULL;
	return true;
}
