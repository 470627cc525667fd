/*
 * goaway.h - streams that an HTTP/2 server has said it does not process; for http's own files.
 *
 * A server that closes a connection says with GOAWAY which stream is the last that it processes
 * (RFC 9113, section 6.8): what was sent on later ones was not done, and may be sent again. libcurl
 * has no call that tells of it, only its log.
 *
 * REFUSED_STREAM is not taken for the same (section 8.7): HAProxy resets with it also the stream of a
 * request which the server behind it has got and not answered.
 */
#pragma once

#include "providers/http/transfer.h"

/* The I/O thread's, before `t` starts: `is_unprocessed` is set of every transfer that a server says it of. */
void goaway_watch(struct transfer *t);
