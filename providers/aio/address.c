#include "providers/aio/address.h"

#include "providers/http/http.h"
#include "providers/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS     "0123456789"
#define HOST_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS ".-"
#define PORT_MAX   65535

#define LOCAL_PORT  8080
#define SECURE_PORT 443

struct place {
	char host[AIO_HOST_MAX + 1]; /* "": not given */
	long port;                   /* 0: likewise */
};

static bool take_host(struct place *p, const char *text, size_t len)
{
	if (!len || len > AIO_HOST_MAX || strspn(text, HOST_BYTES) < len || *text == '-')
		return false;
	snprintf(p->host, sizeof p->host, "%.*s", (int)len, text);
	return true;
}

static bool take_port(struct place *p, const char *text)
{
	size_t len = strspn(text, DIGITS);

	p->port = len && len <= 5 && !text[len] ? strtol(text, NULL, 10) : 0;
	return p->port > 0 && p->port <= PORT_MAX;
}

static enum err take_variable(struct place *p, const char *name, struct error *e)
{
	const char *value = variable(name);
	bool is_port = !strcmp(name, "SANDBOX_PORT");

	if (!value || (is_port ? take_port(p, value) : take_host(p, value, strlen(value))))
		return ERR_OK;
	return error_set(e, ERR_INVALID, "%s '%.100s' is no %s", name, value,
		is_port ? "port: 1 to 65535" : "host: a name or an IPv4 address, without a scheme");
}

static enum err take_id(struct place *p, const char *id, struct error *e)
{
	const char *separator = strchr(id, '_');
	bool is_good = separator
		? take_host(p, id, (size_t)(separator - id)) && take_port(p, separator + 1)
		: id[strspn(id, DIGITS)] ? take_host(p, id, strlen(id))
					 : take_port(p, id);

	return is_good
		? ERR_OK
		: error_set(e, ERR_INVALID,
			  "aio: '%.120s' is no sandbox: an ID is HOST, PORT or HOST_PORT, as in "
			  "aio:localhost_8080",
			  id);
}

static void put_url(struct aio_address *out, const char *scheme, const struct place *p, long port)
{
	snprintf(out->url, sizeof out->url, "%s://%s:%ld", scheme, p->host,
		p->port ? p->port : port);
	snprintf(out->id, sizeof out->id, "%s_%ld", p->host, p->port ? p->port : port);
}

enum err aio_address_read(struct aio_address *out, const char *id, struct error *e)
{
	struct place p = { 0 };
	enum err kind = take_variable(&p, "SANDBOX_HOST", e);

	if (!kind)
		kind = take_variable(&p, "SANDBOX_PORT", e);
	if (!kind && id)
		kind = take_id(&p, id, e);
	if (kind)
		return kind;
	put_url(out, "http", &p, LOCAL_PORT);
	out->is_guessed = false;
	if (http_check_url(out->url, NULL) == ERR_OK) {
		out->is_guessed = !p.port;
		return ERR_OK;
	}
	put_url(out, "https", &p, SECURE_PORT);
	return http_check_url(out->url, e);
}
