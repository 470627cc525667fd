/*
 * fixture.h - a sandbox "i1" of a canned control plane, from before there was a proxy: so its
 * daemon is on the same port.
 */
#pragma once

#include "providers/daytona/daytona.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define SANDBOX(state, more) "{\"id\":\"i1\",\"state\":\"" state "\",\"user\":\"daytona\"" more "}"
#define LOOK                 "GET /sandbox/i1 "
#define START                "POST /sandbox/i1/start "
#define LOOK_IS(state)                                                                             \
	{                                                                                          \
		LOOK, 200, SANDBOX(state, ""), NULL                                                \
	}
#define NO_PROXY                                                                                   \
	{                                                                                          \
		"GET /sandbox/i1/toolbox-proxy-url ", 404,                                         \
			"{\"statusCode\":400,\"message\":\"Cannot GET "                            \
			"/sandbox/i1/toolbox-proxy-url\"}",                                        \
			NULL                                                                       \
	}
/* The requests that find a running sandbox. */
#define FOUND LOOK_IS("started"), NO_PROXY
/* The daemon's answer for a command that took too long, and the type of a file. */
#define LATE   "{\"statusCode\":408,\"message\":\"request timeout\",\"code\":\"REQUEST_TIMEOUT\"}"
#define OCTETS "Content-Type: application/octet-stream\r\n"
#define CHANGING                                                                                   \
	{                                                                                          \
		START, 409,                                                                        \
			"{\"statusCode\":400,\"message\":\"Sandbox state change in progress\"}",   \
			NULL                                                                       \
	}

struct fixture {
	struct canned server;
	struct daytona *d;
	struct error e;
};

/* Opens the account alone. */
void fixture_open(struct fixture *f, const struct canned_row *rows, size_t count,
	const struct provider_config *cfg);
/*
 * Opens the account and finds the sandbox, as an attach does: a sandbox that is not found from then
 * on has existed before.
 */
void fixture_find(struct fixture *f, const struct canned_row *rows, size_t count,
	const struct provider_config *cfg);
void fixture_close(struct fixture *f);

#define OPEN(f, rows, cfg) fixture_open(f, rows, sizeof(rows) / sizeof *(rows), cfg)
#define FIND(f, rows, cfg) fixture_find(f, rows, sizeof(rows) / sizeof *(rows), cfg)
