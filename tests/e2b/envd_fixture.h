/*
 * envd_fixture.h - a client of envd.h and the server it talks to, for one test.
 */
#pragma once

#include "providers/e2b/envd.h"
#include "tests/e2b/envd_server.h"
#include "tests/e2b/envd_words.h"

#define TEST_TOKEN "t0p-s3cret"
#define START      "POST /process.Process/Start "

struct envd_fixture {
	struct http *http;
	struct envd *envd;
	struct envd_server server;
	struct error e;
	bool is_stopped;
};

/* Makes a client and a server of the newest version. `user` may be NULL. */
void envd_fixture_make(
	struct envd_fixture *f, const char *user, const struct envd_row *rows, size_t count);
/* Makes a daemon of the given version. */
void envd_fixture_make_old(struct envd_fixture *f, const char *version, const char *user,
	const struct envd_row *rows, size_t count);
/* Stops the server, which checks that each row was asked for. */
void envd_fixture_stop(struct envd_fixture *f);
void envd_fixture_release(struct envd_fixture *f);

/*
 * Whether the headers of the row's request have `text`, in any case; the request's body. After the
 * stop.
 */
bool envd_fixture_asked(const struct envd_fixture *f, size_t row, const char *text);
const char *envd_fixture_body(const struct envd_fixture *f, size_t row, size_t *len);
