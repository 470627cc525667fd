/*
 * multipart.h - bodies of multipart/form-data (RFC 7578): made part by part and sent without a copy of the contents.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/http/http.h"

struct multipart_piece;

/* A body in the making, then an http_source. What parts point to must outlive it. */
struct multipart {
	char boundary[48]; /* random */
	struct buf texts;  /* heads of the parts, and values of text */
	struct multipart_piece *pieces;
	size_t pieces_count, pieces_room;
	uint64_t len;
	bool failed; /* no memory: multipart_finish() says so */
};

/* ERR_IO: no random bytes. */
enum err multipart_init(struct multipart *m, struct error *e);
void multipart_release(struct multipart *m);

/* A field of text. Names and file names are quoted as RFC 7578 wants (percent-encoding of ", CR and LF). */
void multipart_add_text(struct multipart *m, const char *name, const char *value);
/* A file of type application/octet-stream. `file_name` may be NULL. */
void multipart_add_file(struct multipart *m, const char *name, const char *file_name,
	const void *bytes, size_t len);
/* Closes it; ERR_NO_MEMORY: a part found no room. After that m->len is its length and multipart_read() an http_source over it. */
enum err multipart_finish(struct multipart *m, struct error *e);
enum err multipart_read(void *m, uint64_t offset, void *dst, size_t len, struct error *e);
/* "multipart/form-data; boundary=..." */
void multipart_content_type(const struct multipart *m, char out[96]);
