/*
 * parts.h - the daemon's answer to a bulk download of one file: multipart/form-data, read by the lengths of its parts.
 *
 * Contents may hold the boundary, which is the same in every answer, so as many bytes as a part's Content-Length says are
 * taken unseen. Behind them the next boundary is looked for: files of /proc have length 0 and contents, others grow while
 * they are read. An answer whose reading failed in the middle just ends, with a status of 200: only the closing boundary
 * says that it is whole.
 *
 * Pieces may be of any size, down to single bytes. What is held is bounded. Not locked.
 */
#pragma once

#include "providers/base/buf.h"

/* A piece of a file's contents; anything but ERR_OK ends it with that. */
typedef enum err (*parts_sink)(void *context, const void *bytes, size_t len, struct error *e);

enum parts_state {
	PARTS_BOUNDARY, /* the first line */
	PARTS_HEADER,
	PARTS_COUNTED, /* contents, as far as their length is known */
	PARTS_SCANNED, /* contents, up to the next boundary */
	PARTS_BEHIND,  /* a boundary: "--" or the end of its line */
	PARTS_CLOSED,
};

struct parts_reader {
	enum parts_state state;
	struct buf held;      /* what could not be told yet */
	struct buf delimiter; /* the end of a line, and the boundary */
	uint64_t left;        /* PARTS_COUNTED */
	bool is_error;        /* this part tells why a file is not there */
	bool has_file;
	struct buf refusal; /* its words */
	parts_sink sink;
	void *sink_context;
};

void parts_init(struct parts_reader *p, parts_sink sink, void *context);
void parts_release(struct parts_reader *p);
#define AUTO_PARTS __attribute__((cleanup(parts_release)))

/* ERR_PROTOCOL: this is no such answer. */
enum err parts_take(struct parts_reader *p, const void *bytes, size_t len, struct error *e);

/*
 * No more will come. ERR_UNREACHABLE: it was cut short. Else what a part refused says: ERR_NOT_FOUND, ERR_DENIED, ERR_INVALID
 * or ERR_IO. ERR_PROTOCOL: there was no file.
 */
enum err parts_end(struct parts_reader *p, struct error *e);
