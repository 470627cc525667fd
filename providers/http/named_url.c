/*
 * named_url.c - addresses that an answer names: the places where the service may send us, with the
 * key.
 */
#include "providers/base/cleanup.h"
#include "providers/http/http.h"
#include "providers/http/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The reach of a host; a larger one is more public. */
enum scope {
	SCOPE_MACHINE,
	SCOPE_LINK,
	SCOPE_PRIVATE,
	SCOPE_PUBLIC,
};

/*
 * IPv4 addresses are in ::ffff:0:0/96. RFC 6890 lists the networks, RFC 3879 fec0::/10, RFC 6598
 * 100.64.0.0/10.
 */
static const struct {
	const char *net;
	int bits;
	enum scope scope;
} nets[] = {
	{ "::ffff:0.0.0.0", 104, SCOPE_MACHINE },
	{ "::ffff:127.0.0.0", 104, SCOPE_MACHINE },
	/* multicast, reserved, broadcast: no server has these */
	{ "::ffff:224.0.0.0", 99, SCOPE_MACHINE },
	{ "::", 96, SCOPE_MACHINE }, /* :: and ::1 as well */
	{ "ff00::", 8, SCOPE_MACHINE },
	{ "::ffff:169.254.0.0", 112, SCOPE_LINK },
	{ "fe80::", 10, SCOPE_LINK },
	{ "::ffff:10.0.0.0", 104, SCOPE_PRIVATE },
	{ "::ffff:172.16.0.0", 108, SCOPE_PRIVATE },
	{ "::ffff:192.168.0.0", 112, SCOPE_PRIVATE },
	{ "::ffff:100.64.0.0", 106, SCOPE_PRIVATE },
	{ "fc00::", 7, SCOPE_PRIVATE },
	{ "fec0::", 10, SCOPE_PRIVATE },
	/* Networks that carry an IPv4 address of any kind: NAT64, 6to4. */
	{ "64:ff9b::", 96, SCOPE_MACHINE },
	{ "64:ff9b:1::", 48, SCOPE_MACHINE },
	{ "2002::", 16, SCOPE_MACHINE },
};

static bool starts_alike(const struct in6_addr *a, const struct in6_addr *b, int bits)
{
	int bytes = bits / 8, rest = bits % 8;

	return !memcmp(a, b, (size_t)bytes) &&
		(!rest || !((a->s6_addr[bytes] ^ b->s6_addr[bytes]) >> (8 - rest)));
}

static enum scope scope_of_address(const struct in6_addr *address)
{
	struct in6_addr net;

	for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
		if (inet_pton(AF_INET6, nets[i].net, &net) == 1 &&
			starts_alike(address, &net, nets[i].bits))
			return nets[i].scope;
	return SCOPE_PUBLIC;
}

/*
 * Names are public, except those of RFC 6761: a server that answers under another name has a
 * certificate for it, or TLS ends before the key is sent.
 */
static enum scope scope_of_host(const char *host)
{
	AUTO_FREE char *name = strdup(host + (*host == '['));
	char dotted[INET_ADDRSTRLEN], mapped[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	struct in_addr v4;
	size_t len;

	if (!name)
		return SCOPE_MACHINE;
	len = strcspn(name, "]");
	while (len && name[len - 1] == '.')
		len--;
	name[len] = 0;
	if (*host == '[')
		return inet_pton(AF_INET6, name, &v6) == 1 ? scope_of_address(&v6) : SCOPE_MACHINE;
	if (inet_aton(name, &v4)) {
		snprintf(mapped, sizeof mapped, "::ffff:%s",
			inet_ntop(AF_INET, &v4, dotted, sizeof dotted));
		return inet_pton(AF_INET6, mapped, &v6) == 1 ? scope_of_address(&v6)
							     : SCOPE_MACHINE;
	}
	return !len || url_host_is_below(name, len, "localhost") ? SCOPE_MACHINE : SCOPE_PUBLIC;
}

/*
 * Whether no public host has the name: one of a single word, and those reserved by RFC 6762 and
 * 8375 and ICANN.
 */
static bool is_private_name(const char *host)
{
	static const char *const ends[] = { "internal", "local", "home.arpa" };
	size_t len = strlen(host);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (url_host_is_below(host, len, ends[i]))
			return true;
	return !strchr(host, '.') && *host != '[';
}

bool http_is_private(const char *url)
{
	AUTO_FREE char *host = url_host(url);

	return host && (scope_of_host(host) < SCOPE_PUBLIC || is_private_name(host));
}

/*
 * A service that is asked by http may name other ports of its host by http: its answers are in the
 * clear anyway.
 */
static enum err check_named_scheme(const char *named, const char *by, struct error *e)
{
	AUTO_FREE char *host = url_host(named);
	AUTO_FREE char *by_host = url_host(by);
	bool is_same = host && by_host && !strcasecmp(host, by_host);

	return is_same && url_is_plain(named) && url_is_plain(by) ? ERR_OK
								  : http_check_url(named, e);
}

enum err http_check_named_url(const char *named, const char *by, struct error *e)
{
	struct error why = { 0 };
	enum err kind = check_named_scheme(named, by, &why);
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *by_host = NULL;

	if (kind == ERR_NO_MEMORY)
		return error_set(e, kind, "%s", why.text);
	if (kind)
		return error_set(e, ERR_PROTOCOL, "the service names an address: %s", why.text);
	if (named[strcspn(named, "?#")])
		return error_set(e, ERR_PROTOCOL,
			"the service names '%.*s' with a query or a fragment, which no address of "
			"a sandbox has",
			(int)strcspn(named, "?#"), named);
	if (url_is_plain(named) && !url_is_plain(by))
		return error_set(e, ERR_PROTOCOL,
			"the service names '%s', without TLS, and is itself asked by https", named);
	host = url_host(named);
	by_host = url_host(by);
	if (!host || !by_host)
		return error_set(e, ERR_NO_MEMORY, "a URL");
	if (scope_of_host(host) < scope_of_host(by_host))
		return error_set(e, ERR_PROTOCOL,
			"the service names '%s', in a network where it is not itself: the key is "
			"not sent there",
			named);
	return ERR_OK;
}
