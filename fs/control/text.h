/*
 * text.h - files of the control directory that only report: the text is made when its beginning is
 * read.
 */
#pragma once

#include "fs/control/file.h"

struct text_handle {
	struct control_handle base;
	uint64_t number; /* as control_file.open has it */
	pthread_mutex_t lock;
	struct buf text; /* as of the last read of the beginning; under the lock */
};

/* For the slots `open` and `close`. */
struct control_handle *text_open(struct control *c, uint64_t number);
void text_close(struct control_handle *h);

/* Adds the text to `out`. text_read() checks `out` for a lack of memory. */
typedef enum err (*text_tell)(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e);

/* Adds a line to the text, made harmless (providers/base/harmless.h). */
void text_add_line(struct buf *out, const char *line);

/*
 * For the slot `read`. A read of the beginning makes the text anew; reads behind it return that
 * text.
 */
void text_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off, text_tell tell);
