/*
 * greeting.h - the first words of an HTTP/2 server, which say how many streams a connection may have.
 * For http's own files; all of it is the I/O thread's.
 *
 * A stream too many is refused, and some who refuse one have done what it asked for: it must not be
 * sent again. So what would be the second stream of a new connection waits for these words, which
 * come within a round trip; for the answer to the first; or for GREETING_MAX_MS, since libcurl does not
 * tell of a server that says 100.
 */
#pragma once

#include <curl/curlver.h>
#include <stdbool.h>

struct http;
struct transfer;

/* libcurl 8 logs no greeting (lib/http2.c): a round trip is all that is waited for there. */
#if LIBCURL_VERSION_NUM >= 0x080000
#define GREETING_MAX_MS 100
#else
#define GREETING_MAX_MS 500
#endif

/* Whether a line of libcurl's log reports the greeting. */
bool greeting_is_told(const char *line);
/* Whether `t` has to start later; `h->greeting_ms` then has the latest start. */
bool greeting_is_awaited(struct http *h, const struct transfer *t);
