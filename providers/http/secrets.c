#include "providers/http/secrets.h"

#include <string.h>

static enum err keep(const char *value, struct curl_slist **out, struct error *e)
{
	struct curl_slist *longer = curl_slist_append(*out, value);

	if (!longer)
		return error_set(e, ERR_NO_MEMORY, "the headers");
	*out = longer;
	return ERR_OK;
}

/*
 * Keeps the value, and also the token alone, which a server may repeat without "Bearer" (RFC 6750).
 */
static enum err keep_secret(const char *value, struct curl_slist **out, struct error *e)
{
	size_t scheme_len = strlen("Bearer ");
	enum err kind = *value ? keep(value, out, e) : ERR_OK;

	if (!kind && !strncasecmp(value, "Bearer ", scheme_len) && value[scheme_len])
		kind = keep(value + scheme_len, out, e);
	return kind;
}

enum err secrets_keep(const struct http_request *request, struct curl_slist **out, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t i = 0; !kind && i < request->headers_count; i++)
		if (request->headers[i].is_secret)
			kind = keep_secret(request->headers[i].value, out, e);
	return kind;
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
