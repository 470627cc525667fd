/*
 * more_headers.h - the user's own headers in every request to a vendor's API, for a gateway in
 * front of a self-hosted service.
 */
#pragma once

#include "providers/http/http.h"

#define MORE_HEADERS_MAX 31

/* The texts are in `text`, which is wiped at the release. */
struct more_headers {
	char *text;
	struct http_header headers[MORE_HEADERS_MAX]; /* every one is secret */
	size_t count;
};

/*
 * The headers of `variable`, a name of variables.h or NULL, and of SANDBOXFS_HEADERS: lines of
 * NAME: VALUE. ERR_INVALID names the variable, and no value. On failure there is nothing to
 * release.
 */
enum err more_headers_read(struct more_headers *out, const char *variable, struct error *e);
void more_headers_release(struct more_headers *m);
#define AUTO_MORE_HEADERS __attribute__((cleanup(more_headers_release)))
