/*
 * reader.h - a JSON value that is parsed while its text arrives, within the memory limit of an
 * answer.
 */
#pragma once

#include "providers/json_bound.h"
#include "providers/rest/rest.h"

struct json_tokener;

struct rest_reader {
	struct json_bound bound;
	struct json_tokener *tokener;
	struct json_object *value;
	bool is_whole;        /* the value is complete: only blanks may follow */
	bool is_none;         /* the text is no JSON, or not accepted by json_bound_add() */
	unsigned char cut[4]; /* the beginning of a character whose rest has not come */
	size_t cut_len;
};

/* `kept`: the memory of the text itself, where it is kept. To be released in any case. */
void rest_reader_begin(struct rest_reader *r, size_t kept);
void rest_reader_release(struct rest_reader *r);

/*
 * Adds bytes. ERR_TOO_LARGE: the answer would take more memory than allowed. Invalid JSON is
 * reported at the end.
 */
enum err rest_reader_add(struct rest_reader *r, const char *bytes, size_t len, struct error *e);
/* False: the text was no JSON. The caller owns *out. */
bool rest_reader_end(struct rest_reader *r, struct json_object **out);
