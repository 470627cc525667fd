/*
 * plain_http.h - addresses off this machine that are reached without TLS: of containers and of
 * self-hosted services.
 */
#pragma once

#include "providers/http/http.h"

/*
 * Lets `h` go to `url`, where that is http and the user allows it: `is_asked`, or the host is one
 * of a private network, or SANDBOXFS_INSECURE_HTTP is set. One line of the log warns. In all other
 * cases http_check_url() still refuses the address. ERR_NO_MEMORY.
 */
enum err plain_http_allow(struct http *h, const char *url, bool is_asked, struct error *e);
