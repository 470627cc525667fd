/*
 * run.h - one run of a program, shared by run.c and shell.c.
 */
#pragma once

#include "providers/aio/aio.h"

/* Linux's longest argument: the whole text is one argument of `bash -c TEXT`. */
#define AIO_TEXT_MAX 131071

struct aio_run_request {
	struct aio *a;
	const struct call *call;
	execute_sink sink;
	void *sink_context;
	struct buf text;                    /* one line of shell text, printable ASCII */
	const struct remote_upload *upload; /* NULL: none */
};

/* The milliseconds that the service may hold an answer: less than the call's limit. */
int64_t aio_answer_ms(const struct call *call);

/* A request of the program's; `body` stays the caller's, and as it is. */
struct rest_ask aio_run_ask(
	const struct aio_run_request *asked, const char *path, const struct buf *body);

/* As aio_run(), but by /v1/shell. ERR_UNSUPPORTED: the image does not have that either. */
enum err aio_shell_run(struct aio_run_request *asked, int *exit_code, struct error *e);
