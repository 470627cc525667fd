/*
 * secure_room.h - the common set-up of tests over TLS: a client, a server of Node's, a certificate.
 */
#pragma once

#include "providers/http/http.h"
#include "tests/support/scratch.h"

#include <sys/types.h>

struct secure {
	struct scratch scratch;
	pid_t pid;
	int input, port;
	struct http *http;
	char url[200];
};

/* One room at a time. */
extern struct secure secure;

/* The default server; GOAWAY_SERVER writes its frames itself. */
#define SECURE_SERVER "tests/http/secure_server.mjs"
#define GOAWAY_SERVER "tests/http/goaway_server.mjs"

/*
 * Starts the server with the argument `does`. `trusts`: SSL_CERT_FILE names its authority. The test
 * is skipped where there is no node or no openssl.
 */
void secure_open(const char *server, const char *does, bool trusts);
void secure_close(void);

/* A POST without a body. */
struct http_request secure_request(const char *path);
/* Sends the request, and expects these words. */
void secure_expect(const char *path, const char *want);
/* Begins the request, and asserts that it began. */
struct http_exchange *secure_begin(const char *path);
/* Reads to the end of `want` bytes, and ends the exchange. */
void secure_expect_end(struct http_exchange *x, size_t want);
