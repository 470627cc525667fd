#include "providers/http/url.h"

#include "providers/http/client.h"
#include "providers/http/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

struct parts {
	char *scheme, *host, *port;
};

static void parts_release(struct parts *p)
{
	curl_free(p->scheme);
	curl_free(p->host);
	curl_free(p->port);
}

#define AUTO_PARTS __attribute__((cleanup(parts_release)))

bool url_host_is_below(const char *host, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && !strncasecmp(host + len - end_len, end, end_len) &&
		(len == end_len || host[len - end_len - 1] == '.');
}

/* libcurl normalizes hosts here as when it connects: 127.1 becomes 127.0.0.1. */
static CURLUcode parse(const char *url, struct parts *out)
{
	CURLU *u = curl_url();
	CURLUcode code =
		u ? curl_url_set(u, CURLUPART_URL, url, CURLU_DISALLOW_USER) : CURLUE_OUT_OF_MEMORY;

	if (!code)
		code = curl_url_get(u, CURLUPART_SCHEME, &out->scheme, 0);
	if (!code)
		code = curl_url_get(u, CURLUPART_HOST, &out->host, 0);
	if (!code)
		code = curl_url_get(u, CURLUPART_PORT, &out->port, CURLU_DEFAULT_PORT);
	curl_url_cleanup(u);
	return code;
}

static bool is_loopback(const char *host)
{
	struct in_addr v4;

	/* 0.0.0.0, where servers are said to listen, connects to this machine. */
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET || v4.s_addr == INADDR_ANY;
	return !strcmp(host, "[::1]") || !strcmp(host, "[::]") ||
		url_host_is_below(host, strlen(host), "localhost");
}

bool url_is_plain(const char *url)
{
	return !strncasecmp(url, "http://", strlen("http://"));
}

enum err http_check_url(const char *url, struct error *e)
{
	AUTO_PARTS struct parts p = { 0 };
	CURLUcode code = parse(url, &p);

	if (code == CURLUE_OUT_OF_MEMORY)
		return error_set(e, ERR_NO_MEMORY, "a URL");
	if (code == CURLUE_USER_NOT_ALLOWED)
		return error_set(e, ERR_INVALID, "a URL must not hold a user's name or password");
	if (code)
		return error_set(e, ERR_INVALID, "'%.*s' is no URL: %s", (int)strcspn(url, "?#"),
			url, curl_url_strerror(code));
	if (!strcmp(p.scheme, "https") || (!strcmp(p.scheme, "http") && is_loopback(p.host)))
		return ERR_OK;
	return error_set(e, ERR_INVALID,
		"%s://%s: only https leaves this machine; use https://, or -o insecure_http (with "
		"sandboxctl --insecure-http)",
		p.scheme, p.host);
}

enum err http_allow_plain(struct http *h, const char *url, struct error *e)
{
	for (size_t i = 0; i < PLAIN_HOSTS_MAX; i++)
		if (!h->plain_hosts[i]) {
			h->plain_hosts[i] = url_host(url);
			return h->plain_hosts[i] ? ERR_OK : error_set(e, ERR_NO_MEMORY, "a URL");
		}
	return error_set(e, ERR_INVALID, "%s: too many addresses without TLS", url);
}

static bool may_be_plain(const struct http *h, const char *url)
{
	AUTO_PARTS struct parts p = { 0 };

	if (!h || parse(url, &p) || strcmp(p.scheme, "http"))
		return false;
	for (size_t i = 0; i < PLAIN_HOSTS_MAX && h->plain_hosts[i]; i++)
		if (!strcasecmp(h->plain_hosts[i], p.host))
			return true;
	return false;
}

enum err http_check_reach(const struct http *h, const char *url, struct error *e)
{
	return may_be_plain(h, url) ? ERR_OK : http_check_url(url, e);
}

bool http_same_origin(const char *one, const char *other)
{
	AUTO_PARTS struct parts a = { 0 };
	AUTO_PARTS struct parts b = { 0 };

	return !parse(one, &a) && !parse(other, &b) && !strcmp(a.scheme, b.scheme) &&
		!strcasecmp(a.host, b.host) && !strcmp(a.port, b.port);
}

char *url_of_host(const char *url)
{
	AUTO_PARTS struct parts p = { 0 };
	char *out = NULL;

	if (parse(url, &p) || asprintf(&out, "http://%s:%s", p.host, p.port) < 0)
		return NULL;
	return out;
}

char *url_host(const char *url)
{
	AUTO_PARTS struct parts p = { 0 };

	return parse(url, &p) ? NULL : strdup(p.host);
}

char *url_origin(const char *url)
{
	AUTO_PARTS struct parts p = { 0 };
	char *out = NULL;

	if (parse(url, &p) || asprintf(&out, "%s://%s:%s/", p.scheme, p.host, p.port) < 0)
		return NULL;
	return out;
}

char *url_shown(const char *url)
{
	return strndup(url, strcspn(url, "?#"));
}

static bool stays(char c, const char *keep)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return strchr("-._~", c) || (keep && strchr(keep, c));
}

bool http_escape(struct buf *out, const char *text, const char *keep)
{
	for (; *text; text++) {
		if (stays(*text, keep))
			buf_add_byte(out, (unsigned char)*text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
	}
	return !out->failed;
}
