/*
 * account.h - where a sandbox listens, from the source's ID and the environment.
 *
 * One container is one sandbox with one port. SANDBOX_HOST and SANDBOX_PORT name it; the host may
 * have a port, or be a URL that says the scheme. An ID takes their place: HOST, PORT or HOST_PORT, in
 * which '_' separates because no host's name has one; an address of IPv6 has '-' for ':' there and
 * "ipv6." before it, as in "ipv6.fd00--7_8080". Without any it is this machine's port 8080, which the
 * vendor's documents publish, or 8090, which they use as well.
 *
 * This machine is spoken to by http, and so is a host of a private network at a port that is given
 * and not 443, as containers are reached; others by https, where the port is 443 unless it is given.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

#define AIO_HOST_MAX 100

struct aio_address {
	char url[AIO_HOST_MAX + 32]; /* SCHEME://HOST:PORT */
	char id[AIO_HOST_MAX + 16];  /* HOST_PORT, whatever was given */
	bool is_guessed;             /* this machine, and nobody gave a port */
	bool is_plain_asked;         /* SANDBOX_HOST says http:// of this host */
};

/* The second port to look at where the first one was guessed. */
#define AIO_OTHER_PORT 8090

/* `id` may be NULL. ERR_INVALID: the ID or a variable, by its name. */
enum err aio_address_read(struct aio_address *out, const char *id, struct error *e);
