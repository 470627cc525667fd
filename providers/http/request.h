/*
 * request.h - a request as options of libcurl; for http's own files.
 */
#pragma once

#include "providers/http/client.h"

/* Makes a handle with everything but the callbacks; NULL: no memory. */
CURL *request_handle(const struct http *h, const struct transfer *t);

/* The method's name. */
const char *request_method(enum http_method method);

/*
 * Makes libcurl's list of `headers`, with libcurl's own additions removed; the caller frees the
 * list. Secret headers only with `with_secrets`. ERR_INVALID: a header would break the line.
 */
enum err request_headers(
	const struct http_request *r, bool with_secrets, struct curl_slist **out, struct error *e);
