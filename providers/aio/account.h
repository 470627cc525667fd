/*
 * account.h - the address of a sandbox, from the source's ID and the environment.
 *
 * One container is one sandbox with one port. SANDBOX_HOST and SANDBOX_PORT name it; the host may
 * have a port, or be a URL with a scheme. An ID replaces them: HOST, PORT or HOST_PORT. '_'
 * separates the two because no host's name has one. An address of IPv6 has '-' for ':' in an ID and
 * "ipv6." before it, as in "ipv6.fd00--7_8080". Where nothing is given, the address is this
 * machine's port 8080, which the vendor's documents publish, or 8090, which they use as well.
 *
 * The scheme is http for this machine, and for a host of a private network at a port that is given
 * and not 443, as containers are reached. For other hosts it is https, with port 443 unless one is
 * given.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

#define AIO_HOST_MAX 100

struct aio_address {
	char url[AIO_HOST_MAX + 32]; /* SCHEME://HOST:PORT */
	char id[AIO_HOST_MAX + 16];  /* HOST_PORT, whatever was given */
	bool is_guessed;             /* this machine, without a port that was given */
	bool is_plain_asked;         /* SANDBOX_HOST says http:// of this host */
};

/* The second port to look at where the first one was guessed. */
#define AIO_OTHER_PORT 8090

/* `id` may be NULL. ERR_INVALID: the text names the ID or the variable that is wrong. */
enum err aio_address_read(struct aio_address *out, const char *id, struct error *e);
