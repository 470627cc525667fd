/*
 * exec_capture.h - the output of a command, kept up to a limit: its first and its last bytes. Not
 * locked.
 */
#pragma once

#include "providers/base/buf.h"

/* 16 MiB of each stream: more than any client of the protocol keeps (10 MiB). */
#define EXEC_CAPTURE_MAX ((size_t)16 * 1024 * 1024)

struct exec_capture {
	struct buf bytes;
	size_t limit; /* an even number of bytes */
	bool truncated;
};

#define EXEC_CAPTURE_INIT(limit_bytes)                                                             \
	{                                                                                          \
		.bytes = BUF_INIT((limit_bytes) / 2 * 3), .limit = (limit_bytes)                   \
	}

void exec_capture_release(struct exec_capture *c);

/* Never fails: bytes that find no room are left out, and `truncated` is set. */
void exec_capture_add(struct exec_capture *c, const void *bytes, size_t len);

/* No more bytes come: cuts the capture to the limit. Text is cut between two characters. */
void exec_capture_end(struct exec_capture *c);
