/*
 * endpoint.h - one socket of a relayed connection, and whether it is ready.
 *
 * Events only set flags; reading and writing clear them when the kernel has no more. So a socket
 * that is not to be read yet costs no wakeups.
 */
#pragma once

#include "tests/relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct endpoint {
	struct source source;
	int fd; /* -1: not there yet */
	bool is_readable, is_writable;
	bool is_hung_up; /* the peer has closed it */
};

/* Takes `fd`, which does not block. `e` must stay where it is until it is closed. */
void endpoint_open(struct endpoint *e, const struct loop *loop, int fd);

/* As recv and send; on EAGAIN the flag is cleared. */
ssize_t endpoint_read(struct endpoint *e, void *buffer, size_t len);
ssize_t endpoint_write(struct endpoint *e, const void *bytes, size_t len);

/* The peer reads an end of file after the bytes written. */
void endpoint_end(const struct endpoint *e);

/* Bytes written that the peer's kernel has not acknowledged. A reset would throw them away. */
size_t endpoint_unsent(const struct endpoint *e);

/*
 * Nothing to do if the endpoint is not open. `with_reset`: the peer's next call fails with
 * ECONNRESET.
 */
void endpoint_close(struct endpoint *e, bool with_reset);
