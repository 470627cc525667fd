/*
 * answer_file.h - an answer that is left in a file of staging once it is large.
 *
 * For who reads this program's output as text, but files as the bytes they are. What is small stays in memory, from where
 * its asker gets it after all.
 */
#pragma once

#include "providers/base/buf.h"

#include <sys/uio.h>

struct answer_file {
	int dir_fd;       /* the caller's */
	const char *name; /* in it */
	size_t min;       /* up to so many bytes stay in memory */
	struct buf held;  /* those bytes */
	int fd;           /* -1: there is no file yet */
	struct error why; /* ERR_OK, or why there cannot be one: it is removed */
};

void answer_file_init(struct answer_file *f, int dir_fd, const char *name, size_t min);
void answer_file_release(struct answer_file *f);

/* Adds both parts, which it may move on in. The file is made anew, for its owner alone. False: `why`. */
bool answer_file_add(struct answer_file *f, struct iovec parts[2]);
