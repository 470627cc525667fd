/*
 * answer_file.h - an answer that goes to a file of staging once it is large.
 *
 * Some clients read this program's output as text, but files as bytes. A small answer stays in
 * memory, and outlet_end() sends it as output.
 */
#pragma once

#include "providers/base/buf.h"

#include <sys/uio.h>

struct answer_file {
	int dir_fd;       /* owned by the caller */
	const char *name; /* in `dir_fd` */
	size_t min;       /* the answer stays in memory up to this size */
	struct buf held;  /* the answer, while there is no file */
	int fd;           /* -1: there is no file yet */
	struct error why; /* ERR_OK, or why the file failed and was removed */
};

void answer_file_init(struct answer_file *f, int dir_fd, const char *name, size_t min);
void answer_file_release(struct answer_file *f);

/*
 * Adds both parts and may change the iovecs. A new file replaces an older one and has mode 0600.
 * False: `why` has the error.
 */
bool answer_file_add(struct answer_file *f, struct iovec parts[2]);
