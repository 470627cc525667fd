#include "providers/rest/form.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Room for a path, and the heads of two parts. */
#define TEXT_MAX ((size_t)32 * 1024)

enum err rest_form_make(struct rest_form_body *out, const struct rest_form *form, struct error *e)
{
	char edge[48];
	uint64_t random[2];

	*out = (struct rest_form_body){ .form = form, .text = BUF_INIT(TEXT_MAX) };
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "the boundary of a form");
	snprintf(edge, sizeof edge, "sandboxfs-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	snprintf(out->type, sizeof out->type, "multipart/form-data; boundary=%s", edge);
	if (form->path_field)
		buf_printf(&out->text,
			"--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", edge,
			form->path_field, form->path);
	buf_printf(&out->text,
		"--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"file\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n",
		edge, form->file_field);
	out->head_len = out->text.len;
	buf_printf(&out->text, "\r\n--%s--\r\n", edge);
	return buf_check(&out->text, "a form", e);
}

void rest_form_release(struct rest_form_body *b)
{
	buf_release(&b->text);
}

uint64_t rest_form_len(const struct rest_form_body *b)
{
	return b->text.len + b->form->len;
}

/*
 * Finds the contiguous bytes of the body from `offset` on: returns their number, *run their place.
 */
static size_t find_run(const struct rest_form_body *b, size_t offset, const void **run)
{
	size_t contents_end = b->head_len + b->form->len;

	if (offset < b->head_len) {
		*run = b->text.bytes + offset;
		return b->head_len - offset;
	}
	if (offset < contents_end) {
		*run = (const char *)b->form->bytes + (offset - b->head_len);
		return contents_end - offset;
	}
	*run = b->text.bytes + (offset - b->form->len);
	return b->text.len + b->form->len - offset;
}

enum err rest_form_read(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	const struct rest_form_body *b = context;

	(void)e;
	assert(offset <= rest_form_len(b) && len <= rest_form_len(b) - offset);
	while (len) {
		const void *run;
		size_t left = find_run(b, (size_t)offset, &run), step = left < len ? left : len;

		dst = mempcpy(dst, run, step);
		offset += step;
		len -= step;
	}
	return ERR_OK;
}
