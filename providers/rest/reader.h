/*
 * reader.h - a JSON value that is read as its text comes, within what an answer may take.
 */
#pragma once

#include "providers/json_bound.h"
#include "providers/rest/rest.h"

struct json_tokener;

struct rest_reader {
	struct json_bound bound;
	struct json_tokener *tokener;
	struct json_object *value;
	bool is_whole;        /* the value: only blanks may follow */
	bool is_none;         /* no JSON, or none that is read */
	unsigned char cut[4]; /* the beginning of a character whose rest has not come */
	size_t cut_len;
};

/* `kept`: what the text takes beside. Whatever is begun is released. */
void rest_reader_begin(struct rest_reader *r, size_t kept);
void rest_reader_release(struct rest_reader *r);

/*
 * ERR_TOO_LARGE: with these bytes the answer takes more than it may. What is no JSON is told at the
 * end.
 */
enum err rest_reader_add(struct rest_reader *r, const char *bytes, size_t len, struct error *e);
/* False: that was no JSON. *out is the caller's. */
bool rest_reader_end(struct rest_reader *r, struct json_object **out);
