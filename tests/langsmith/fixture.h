/*
 * fixture.h - a canned LangSmith, of both planes, and a provider that has found its sandbox there.
 */
#pragma once

#include "providers/langsmith/langsmith.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY "lsv2_s3cret"
/* Requests to the control plane, for rows. */
#define BOXES     "/api/v2/sandboxes/boxes"
#define LOOK      "GET " BOXES "/b1 "
#define START_BOX "POST " BOXES "/b1/start "
#define STATUS    "GET " BOXES "/b1/status "
/* Bodies that the fixture fills in, with the URL of the data plane. */
extern char box_ready[512], box_stopped[512];

extern struct canned server;
extern struct langsmith *sandbox;
extern struct error e;

/* Starts the server without a provider: the rows are for requests of another kind. */
void fixture_serve(const struct canned_row *rows, size_t count);
#define SERVE(rows) fixture_serve(rows, sizeof(rows) / sizeof *(rows))

/* The first row of every test that finds the sandbox: it is ready. */
#define FOUND                                                                                      \
	{                                                                                          \
		LOOK, 200, box_ready, NULL                                                         \
	}
void fixture_find(const struct canned_row *rows, size_t count, const char *user);
#define FIND(rows)          fixture_find(rows, sizeof(rows) / sizeof *(rows), NULL)
#define FIND_AS(rows, user) fixture_find(rows, sizeof(rows) / sizeof *(rows), user)

/*
 * Fails the test unless exactly the rows were asked for. Requests can be looked at until
 * fixture_end().
 */
void fixture_stop(void);
/* A suite's .fini. */
void fixture_end(void);

bool request_has(size_t request, const char *text);
const char *request_body(size_t request);

/* A sink that keeps the output. */
struct kept {
	char out[4096], err_out[256]; /* as many bytes as fit */
	size_t out_len;
	enum err refusal; /* the sink's answer; ERR_OK: it keeps the output */
};
enum err keep(void *context, enum stream stream, const void *bytes, size_t len, struct error *why);
