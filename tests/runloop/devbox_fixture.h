/* devbox_fixture.h - a canned API of Runloop, the account on it, and the output of a command. */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/runloop/devbox_execution.h"
#include "providers/runloop/runloop.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

/* The types of a stream and of a file. */
#define EVENTS "Content-Type: text/event-stream\r\n"
#define OCTETS "Content-Type: application/octet-stream\r\n"

#define KEY   "ak_s3cret"
#define PATHS "/v1/devboxes"
/* A devbox, as the API shows it. */
#define DEVBOX(status) "{\"id\":\"dbx_1\",\"status\":\"" status "\"}"
#define LATE           408, "{\"message\":\"not yet\"}"

struct fixture {
	struct canned server;
	struct rest_account api;
	struct runloop *b; /* the devbox dbx_1, which no request has gone to */
	struct error e;
};

/* The fixture of the running test. */
extern struct fixture f;

void fixture_start(const struct canned_row *rows, size_t count);
#define FIXTURE_START(rows) fixture_start(rows, sizeof(rows) / sizeof *(rows))
/* Stops the server. Fails the test unless exactly the rows were asked for. */
void fixture_stop(void);
/* The .fini of a suite. */
void fixture_end(void);

/* The body of a request. After fixture_stop(). */
const char *fixture_body(size_t request);
bool fixture_has(size_t request, const char *text);
/* The value of a header, in a buffer that the next call overwrites. */
const char *fixture_header(size_t request, const char *name);

/* A call without a deadline: the service may hold answers as long as it does. */
extern const struct call fixture_call;

/* An execute_sink: adds to the struct buf that is its context; NULL: to nothing. */
enum err fixture_keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e);
