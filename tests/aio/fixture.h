/* fixture.h - a sandbox at a canned server, without an attach: for tests of single requests. */
#pragma once

#include "providers/aio/aio.h"
#include "tests/support/canned.h"

/* The fixture of the running test; made by fixture_start_rows(). */
struct fixture {
	struct canned server;
	struct aio sandbox;
	struct error e;
};

struct fixture *fixture(void);

/* `key` may be NULL. */
void fixture_start_rows(const char *key, const struct canned_row *rows, size_t count);
#define FIXTURE_START(key, rows) fixture_start_rows(key, rows, sizeof(rows) / sizeof *(rows))
/* A suite's .fini. Idle sessions are dropped, not closed. */
void fixture_end(void);

/* Whether the request of that number has the text. After canned_stop(). */
bool fixture_has(size_t request, const char *text);
