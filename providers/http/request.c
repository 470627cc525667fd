#include "providers/http/request.h"

#include "providers/base/cleanup.h"
#include "providers/http/url.h"

#include <string.h>
#include <strings.h>

/* The sizes of one read from a connection and of one write. */
#define RECEIVE_SIZE (128 * 1024L)
#define SEND_SIZE    (256 * 1024L)

static const char *const names[] = {
	[HTTP_GET] = "GET",
	[HTTP_POST] = "POST",
	[HTTP_PATCH] = "PATCH",
	[HTTP_PUT] = "PUT",
	[HTTP_DELETE] = "DELETE",
};

const char *request_method(enum http_method method)
{
	return names[method];
}

static void set_authorities(CURL *easy, const struct http *h)
{
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (h->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, h->ca_file);
	if (h->ca_folder)
		curl_easy_setopt(easy, CURLOPT_CAPATH, h->ca_folder);
}

static void set_connection(CURL *easy, const struct http *h, const struct transfer *t)
{
	bool is_plain = url_is_plain(t->url);
	bool is_own = t->flags & HTTP_OWN_CONNECTION;
	bool is_new = is_own || t->is_fresh;
	bool is_alone = t->is_bulk && !(t->flags & HTTP_REQUIRE_2);

	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
		is_alone ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_2TLS);
	/*
	 * A stream of a connection in the making is better than one more connection; plain HTTP has
	 * no streams.
	 */
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, is_plain || is_new || is_alone ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, is_new ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, is_own ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN,
		t->flags & HTTP_REPEATABLE ? CONNECTION_IDLE_REPEATABLE_MAX_S
					   : CONNECTION_IDLE_MAX_S);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, t->address);
	curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, h->socket_path);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, t->connect_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, t->only_connects ? 1L : 0L);
	/* Plain requests stay on this machine, whatever http_proxy says. */
	if (is_plain)
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

/* A body in memory: libcurl sends it from there, a small one in one write with the headers. */
static void set_body(CURL *easy, const struct transfer *t)
{
	if (!t->has_source)
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, t->body ? t->body : "");
	else
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_len);
}

static void set_method(CURL *easy, const struct transfer *t)
{
	bool wants_body = t->method != HTTP_GET && t->method != HTTP_DELETE;

	if (wants_body || t->body || t->has_source)
		set_body(easy, t);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, names[t->method]);
}

CURL *request_handle(const struct http *h, const struct transfer *t)
{
	CURL *easy = curl_easy_init();

	if (!easy || curl_easy_setopt(easy, CURLOPT_URL, t->url)) {
		curl_easy_cleanup(easy);
		return NULL;
	}
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* A name lookup that is given up is left running, not waited for. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_SIZE);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_SIZE);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, h->user_agent);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	/* Compression is not asked for (request_headers()), but some edges compress anyway. */
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
	set_authorities(easy, h);
	set_connection(easy, h, t);
	set_method(easy, t);
	return easy;
}

/* Moves on to the grown list; false: no memory, and the list is unchanged. */
static bool append(struct curl_slist **list, const char *line)
{
	struct curl_slist *grown = curl_slist_append(*list, line);

	if (grown)
		*list = grown;
	return grown != NULL;
}

/* libcurl sends an empty value for a field that ends in a semicolon. */
static bool append_field(struct curl_slist **list, const struct http_header *field)
{
	AUTO_FREE char *line = NULL;

	if (asprintf(&line, *field->value ? "%s: %s" : "%s;", field->name, field->value) < 0) {
		line = NULL;
		return false;
	}
	return append(list, line);
}

static bool append_fields(struct curl_slist **list, const struct http_request *r, bool with_secrets)
{
	bool has_type = false;

	for (size_t i = 0; i < r->headers_count; i++) {
		if (r->headers[i].is_secret && !with_secrets)
			continue;
		if (!append_field(list, &r->headers[i]))
			return false;
		has_type |= !strcasecmp(r->headers[i].name, "Content-Type");
	}
	return append(list, "Expect:") && append(list, "Accept-Encoding:") &&
		(has_type || append(list, "Content-Type:"));
}

static enum err check_fields(const struct http_request *r, struct error *e)
{
	for (size_t i = 0; i < r->headers_count; i++)
		if (strpbrk(r->headers[i].name, ":; \t\r\n") ||
			strpbrk(r->headers[i].value, "\r\n"))
			return error_set(e, ERR_INVALID, "a header '%s' holds what none can",
				r->headers[i].name);
	return ERR_OK;
}

enum err request_headers(
	const struct http_request *r, bool with_secrets, struct curl_slist **out, struct error *e)
{
	struct curl_slist *list = NULL;
	enum err kind = check_fields(r, e);

	if (kind != ERR_OK)
		return kind;
	if (!append_fields(&list, r, with_secrets)) {
		curl_slist_free_all(list);
		return error_set(e, ERR_NO_MEMORY, "a request's headers");
	}
	*out = list;
	return ERR_OK;
}
