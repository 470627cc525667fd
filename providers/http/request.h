/*
 * request.h - a request as libcurl is told of it; for http's own files.
 */
#pragma once

#include "providers/http/client.h"

/* A handle with everything but the callbacks; NULL: no memory. */
CURL *request_handle(const struct http *h, const struct transfer *t);

/* The method's name. */
const char *request_method(enum http_method method);

/*
 * `headers` as libcurl wants them, with those it would add by itself taken out; the caller frees the list. Secret ones only
 * if `with_secrets`. ERR_INVALID: one would break the line.
 */
enum err request_headers(
	const struct http_request *r, bool with_secrets, struct curl_slist **out, struct error *e);
