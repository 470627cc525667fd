/*
 * more_headers.h - headers of the user's own in every request to a vendor's API: what a gateway
 * before a service of one's own asks for.
 */
#pragma once

#include "providers/http/http.h"

#define MORE_HEADERS_MAX 31

/* Their texts are in `text`, which is wiped at the release. */
struct more_headers {
	char *text;
	struct http_header headers[MORE_HEADERS_MAX]; /* secret, all of them */
	size_t count;
};

/*
 * Those of `variable`, a name of variables.h or NULL, and of SANDBOXFS_HEADERS: lines of NAME: VALUE.
 * ERR_INVALID names the variable, and no value. On failure there is nothing to release.
 */
enum err more_headers_read(struct more_headers *out, const char *variable, struct error *e);
void more_headers_release(struct more_headers *m);
#define AUTO_MORE_HEADERS __attribute__((cleanup(more_headers_release)))
