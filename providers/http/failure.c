#include "providers/http/failure.h"

#include "providers/http/request.h"

#include <string.h>

static enum err kind_of(CURLcode code)
{
	switch (code) {
	case CURLE_OK: return ERR_OK;
	case CURLE_OUT_OF_MEMORY: return ERR_NO_MEMORY;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return ERR_AUTH;
	case CURLE_URL_MALFORMAT: return ERR_INVALID;
	/*
	 * The scheme is always known: libcurl reports HTTP/0.9 so, an answer without a status line.
	 */
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING: return ERR_PROTOCOL;
#if LIBCURL_VERSION_NUM >= 0x080600
	case CURLE_TOO_LARGE: return ERR_PROTOCOL;
#endif
	default: return ERR_UNREACHABLE;
	}
}

/* Whether a plain http URL is refused, since it leads to another machine. */
static bool is_far(const struct transfer *t, CURLcode code)
{
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT: return !strncmp(t->shown, "https:", 6);
	default: return false;
	}
}

static enum err set(const struct transfer *t, enum err kind, const char *why, struct error *e)
{
	return error_set(e, kind, "%s %s: %s", request_method(t->method), t->shown, why);
}

enum err failure_of(const struct transfer *t, CURLcode code, struct error *e)
{
	const char *why = *t->error_text ? t->error_text : curl_easy_strerror(code);
	enum err kind = kind_of(code);

	/* libcurl takes an end in the middle of the headers for their end. */
	if (kind == ERR_OK && !t->has_fields && !t->only_connects)
		return set(t, ERR_UNREACHABLE, "the answer was cut short", e);
	if (kind == ERR_OK)
		return ERR_OK;
	if (t->refusal != ERR_OK)
		return set(t, t->refusal, t->refusal_words, e);
	/* libcurl 7.88 reports a too long header line so. */
	if (kind == ERR_NO_MEMORY && t->is_sent && !t->has_fields)
		return set(t, ERR_PROTOCOL, "more headers than any answer needs", e);
	if (t->sendings > 1)
		return set(t, ERR_UNREACHABLE, "the connection broke before an answer came", e);
	if (kind == ERR_AUTH)
		return error_set(e, ERR_AUTH,
			"%s %s: %s; SSL_CERT_FILE can name the authority to be trusted",
			request_method(t->method), t->shown, why);
	if (is_far(t, code))
		return error_set(e, kind, "%s %s: %s; look at the network, and at https_proxy",
			request_method(t->method), t->shown, why);
	return set(t, kind, why, e);
}
