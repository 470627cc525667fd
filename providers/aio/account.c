#include "providers/aio/account.h"

#include "providers/http/http.h"
#include "providers/variables.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS     "0123456789"
#define HOST_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS ".-"
#define PORT_MAX   65535

#define LOCAL_PORT  8080
#define SECURE_PORT 443

#define IPV6_BEGIN "ipv6."
#define IPV6_BYTES "0123456789abcdefABCDEF:."

struct place {
	char host[AIO_HOST_MAX + 1]; /* "": not given; an address of IPv6 has no [] */
	const char *scheme;          /* "http", "https"; NULL: not given */
	long port;                   /* 0: not given */
};

static bool is_ipv6(const char *host)
{
	struct in6_addr unused;

	return inet_pton(AF_INET6, host, &unused) == 1;
}

static bool take_host(struct place *p, const char *text, size_t len)
{
	if (!len || len > AIO_HOST_MAX || *text == '-')
		return false;
	snprintf(p->host, sizeof p->host, "%.*s", (int)len, text);
	return is_ipv6(p->host) || !p->host[strspn(p->host, HOST_BYTES)];
}

static bool take_port(struct place *p, const char *text)
{
	size_t len = strspn(text, DIGITS);

	p->port = len && len <= 5 && !text[len] ? strtol(text, NULL, 10) : 0;
	return p->port > 0 && p->port <= PORT_MAX;
}

/* ---- SANDBOX_HOST: [SCHEME://]HOST[:PORT], with [] around an IPv6 address before a port ---- */

static const char *take_scheme(struct place *p, const char *text)
{
	static const char *const schemes[] = { "http", "https" };

	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(text, schemes[i], len) || strncmp(text + len, "://", 3))
			continue;
		p->scheme = schemes[i];
		return text + len + 3;
	}
	return text;
}

/* `end`: behind the host, where a port may stand. */
static bool take_end(struct place *p, const char *end)
{
	return !*end || (*end == ':' && take_port(p, end + 1));
}

static bool take_host_port(struct place *p, char *text)
{
	size_t len = strlen(text), name = strcspn(text, ":");

	while (p->scheme && len && text[len - 1] == '/')
		text[--len] = '\0';
	if (*text == '[') {
		size_t inner = strspn(text + 1, IPV6_BYTES);

		return text[1 + inner] == ']' && take_host(p, text + 1, inner) &&
			is_ipv6(p->host) && take_end(p, text + 2 + inner);
	}
	if (is_ipv6(text))
		return take_host(p, text, len);
	return take_host(p, text, name) && take_end(p, text + name);
}

static enum err take_host_variable(struct place *p, struct error *e)
{
	const char *value = variable("SANDBOX_HOST");
	char text[2 * AIO_HOST_MAX];
	int len = snprintf(text, sizeof text, "%s", take_scheme(p, value));

	return len < (int)sizeof text && take_host_port(p, text)
		? ERR_OK
		: error_set(e, ERR_INVALID,
			  "%s '%.100s' is no host: a name or an address, which may have a port, "
			  "or http:// or https:// before it",
			  variable_is_chosen("SANDBOX_HOST") ? "option 'url':" : "SANDBOX_HOST",
			  value);
}

static enum err take_port_variable(struct place *p, struct error *e)
{
	const char *value = variable("SANDBOX_PORT");

	return !value || p->port || take_port(p, value)
		? ERR_OK
		: error_set(e, ERR_INVALID, "SANDBOX_PORT '%.100s' is no port: 1 to 65535", value);
}

/* ---- An ID ---- */

/* `id` has `len` bytes. */
static bool take_id_host(struct place *p, const char *id, size_t len)
{
	size_t begin = strlen(IPV6_BEGIN);
	char address[AIO_HOST_MAX + 1];

	if (len <= begin || len > AIO_HOST_MAX || strncmp(id, IPV6_BEGIN, begin))
		return take_host(p, id, len) && !is_ipv6(p->host);
	snprintf(address, sizeof address, "%.*s", (int)(len - begin), id + begin);
	for (char *c = address; *c; c++)
		*c = *c == '-' ? ':' : *c;
	return is_ipv6(address) ? take_host(p, address, len - begin) : take_host(p, id, len);
}

static bool read_id(struct place *p, const char *id)
{
	const char *separator = strchr(id, '_');

	if (!separator && !id[strspn(id, DIGITS)])
		return take_port(p, id);
	return take_id_host(p, id, separator ? (size_t)(separator - id) : strlen(id)) &&
		(!separator || take_port(p, separator + 1));
}

/* The scheme in SANDBOX_HOST is for its host only. */
static enum err take_id(struct place *p, const char *id, struct error *e)
{
	struct place named = *p;

	if (!read_id(p, id))
		return error_set(e, ERR_INVALID,
			"aio: '%.120s' is no sandbox: an ID is HOST, PORT or HOST_PORT, as in "
			"aio:localhost_8080",
			id);
	if (strcasecmp(p->host, named.host))
		p->scheme = NULL;
	return ERR_OK;
}

/* ---- The address ---- */

static void put_url(struct aio_address *out, const char *scheme, const struct place *p, long port)
{
	bool is_six = is_ipv6(p->host);

	port = p->port ? p->port : port;
	snprintf(out->url, sizeof out->url, is_six ? "%s://[%s]:%ld" : "%s://%s:%ld", scheme,
		p->host, port);
	snprintf(out->id, sizeof out->id, is_six ? IPV6_BEGIN "%s_%ld" : "%s_%ld", p->host, port);
	for (char *c = out->id; *c; c++)
		*c = *c == ':' ? '-' : *c;
}

/* `url`: the address with the scheme http. */
static bool is_plain(const struct place *p, const char *url)
{
	if (p->scheme)
		return !strcmp(p->scheme, "http");
	return http_check_url(url, NULL) == ERR_OK ||
		(p->port && p->port != SECURE_PORT &&
			(http_is_private(url) || variable("SANDBOXFS_INSECURE_HTTP")));
}

enum err aio_address_read(struct aio_address *out, const char *id, struct error *e)
{
	struct place p = { 0 };
	enum err kind = take_host_variable(&p, e);

	if (!kind)
		kind = take_port_variable(&p, e);
	if (!kind && id)
		kind = take_id(&p, id, e);
	if (kind)
		return kind;
	put_url(out, "http", &p, LOCAL_PORT);
	out->is_plain_asked = p.scheme && !strcmp(p.scheme, "http");
	out->is_guessed = !p.port && http_check_url(out->url, NULL) == ERR_OK;
	if (!is_plain(&p, out->url))
		put_url(out, "https", &p, SECURE_PORT);
	return ERR_OK;
}
