/*
 * goaway.h - streams that an HTTP/2 server reports as not processed; for http's own files.
 *
 * A server that closes a connection says with GOAWAY which stream is the last that it processes
 * (RFC 9113, section 6.8): requests on later streams were not carried out, and may be sent again.
 * libcurl has no call that reports this, only its log.
 *
 * REFUSED_STREAM does not count as unprocessed (section 8.7): HAProxy also resets with it the
 * stream of a request that the server behind has received and not answered.
 */
#pragma once

#include "providers/http/transfer.h"

/*
 * For the I/O thread, before `t` starts: sets `is_unprocessed` of every transfer that the server
 * reports as not processed.
 */
void goaway_watch(struct transfer *t);
