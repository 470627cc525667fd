/*
 * form.h - the body of a request that uploads a file: multipart/form-data (RFC 7578), read in
 * pieces without a copy of the contents. For rest/, and for a vendor whose uploads do not use
 * struct rest_ask.
 */
#pragma once

#include "providers/rest/rest.h"

struct rest_form_body {
	const struct rest_form *form;
	struct buf text; /* the text before the contents, then the text behind */
	size_t head_len; /* the length of the text before */
	char type[96];   /* the Content-Type */
};

/* To be released in any case. ERR_IO: no random bytes for the boundary. */
enum err rest_form_make(struct rest_form_body *out, const struct rest_form *form, struct error *e);
void rest_form_release(struct rest_form_body *b);
uint64_t rest_form_len(const struct rest_form_body *b);
/* An http_source over a struct rest_form_body. */
enum err rest_form_read(void *context, uint64_t offset, void *dst, size_t len, struct error *e);
