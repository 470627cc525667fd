/*
 * url.h - the URLs that a request may use, and how they appear in messages; for http's own files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the URL is not protected by TLS. */
bool url_is_plain(const char *url);

/*
 * Whether the host's name, of `len` bytes, is `end` or ends with it behind a dot. All names below
 * "localhost" are this machine (RFC 6761, 6.3), and libcurl asks no server for them.
 */
bool url_host_is_below(const char *host, size_t len, const char *end);

/* "http://HOST:PORT", for a connection only. The caller frees it; NULL: no URL, or no memory. */
char *url_of_host(const char *url);

/*
 * The host: an IPv4 address in its usual form, an IPv6 address in []. The caller frees it; NULL as
 * above.
 */
char *url_host(const char *url);

/* "SCHEME://HOST:PORT/". The caller frees it; NULL as above. */
char *url_origin(const char *url);

/*
 * The URL for logs and errors: without the query, which may have a signature. The caller frees it;
 * NULL: no memory.
 */
char *url_shown(const char *url);
