/*
 * secure_room.h - what tests over TLS stand in: a client, a server of Node's, a certificate.
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

/* One at a time. */
extern struct secure secure;

/* By default; GOAWAY_SERVER writes its frames itself. */
#define SECURE_SERVER "tests/http/secure_server.mjs"
#define GOAWAY_SERVER "tests/http/goaway_server.mjs"

/*
 * Starts the server, which is told what it `does`. `trusts`: SSL_CERT_FILE names its authority.
 * The test is skipped where there is no node or no openssl.
 */
void secure_open(const char *server, const char *does, bool trusts);
void secure_close(void);

/* A POST without a body. */
struct http_request secure_request(const char *path);
/* Sends it, and expects these words. */
void secure_expect(const char *path, const char *want);
/* Begins it and asserts that it began. */
struct http_exchange *secure_begin(const char *path);
/* Reads to the end of so many bytes, and ends it. */
void secure_expect_end(struct http_exchange *x, size_t want);
