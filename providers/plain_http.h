/*
 * plain_http.h - addresses that are reached without TLS although they are not this machine: of
 * containers and of services of one's own.
 */
#pragma once

#include "providers/http/http.h"

/*
 * Lets `h` go to `url`, where that is http and the user says so: `is_asked`, or the host is one of a
 * private network, or SANDBOXFS_INSECURE_HTTP is set. One line of the log warns. Where none of these
 * holds the address stays what http_check_url() refuses. ERR_NO_MEMORY.
 */
enum err plain_http_allow(struct http *h, const char *url, bool is_asked, struct error *e);
