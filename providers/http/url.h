/*
 * url.h - where a request may go, and what may be said of it; for http's own files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Not protected by TLS. */
bool url_is_plain(const char *url);

/*
 * Whether the host's name, of `len` bytes, is `end` or ends with it behind a dot. All names below
 * "localhost" are this machine (RFC 6761, 6.3), and libcurl asks no server for them.
 */
bool url_host_is_below(const char *host, size_t len, const char *end);

/* "http://HOST:PORT": only to connect there. The caller frees it; NULL: no URL, or no memory. */
char *url_of_host(const char *url);

/* An IPv4 address is in its usual form, one of IPv6 in []. The caller frees it; NULL as above. */
char *url_host(const char *url);

/* "SCHEME://HOST:PORT/". The caller frees it; NULL as above. */
char *url_origin(const char *url);

/* For logs and errors: without the query, which may hold a signature. The caller frees it; NULL: no memory. */
char *url_shown(const char *url);
