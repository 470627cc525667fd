#include "providers/http/secrets.h"

#include <string.h>

enum err secrets_keep(const struct http_request *request, struct curl_slist **out, struct error *e)
{
	for (size_t i = 0; i < request->headers_count; i++) {
		const struct http_header *h = &request->headers[i];
		struct curl_slist *longer;

		if (!h->is_secret || !*h->value)
			continue;
		longer = curl_slist_append(*out, h->value);
		if (!longer)
			return error_set(e, ERR_NO_MEMORY, "the headers");
		*out = longer;
	}
	return ERR_OK;
}

static void blot(const char *secret, char *bytes, size_t len)
{
	size_t secret_len = strlen(secret);
	char *end = bytes + len;

	for (char *at; (at = memmem(bytes, (size_t)(end - bytes), secret, secret_len));
		bytes = at + secret_len)
		memset(at, '*', secret_len);
}

void secrets_blot(const struct curl_slist *secrets, void *bytes, size_t len)
{
	for (; len && secrets; secrets = secrets->next)
		blot(secrets->data, bytes, len);
}
