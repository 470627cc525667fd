/*
 * secrets.h - the secrets of a request, for answers that repeat them; for http's own files.
 */
#pragma once

#include "providers/http/http.h"

#include <curl/curl.h>

/* The values of the secret headers; the caller frees the list, also after ERR_NO_MEMORY. */
enum err secrets_keep(const struct http_request *request, struct curl_slist **out, struct error *e);

/* Masks the secrets in `bytes`. */
void secrets_blot(const struct curl_slist *secrets, void *bytes, size_t len);
