/*
 * envd_process.h - the messages of process.Process that run a command: ours from a struct envd_command, its in our terms.
 */
#pragma once

#include "providers/e2b/envd_client.h"

/* Linux's MAX_ARG_STRLEN without the NUL at the end: what one argument holds. */
#define ENVD_ARGUMENT_MAX 131071
/* The longest request: Linux takes 2 MiB of arguments; the daemon then says so itself. */
#define ENVD_REQUEST_MAX ((size_t)4 * 1024 * 1024)

/* Appends the StartRequest. ERR_INVALID: no text; ERR_TOO_LARGE: an argument. */
enum err envd_start_request(struct buf *out, const struct envd_command *command, struct error *e);

enum envd_process_kind {
	ENVD_NOTHING, /* a sign of life, or what this version does not know */
	ENVD_STARTED, /* `pid` */
	ENVD_OUTPUT,  /* `stream`, `bytes`, `len` */
	ENVD_ENDED,   /* `has_exit_code`, `exit_code` */
};

struct envd_process_event {
	enum envd_process_kind kind;
	uint32_t pid;
	enum stream stream;
	const void *bytes;
	size_t len;
	bool has_exit_code;
	int exit_code; /* 128 + the signal's number when one ended it */
};

/* Hands a StartResponse on. ERR_PROTOCOL: it is none. Else what `sink` returns. */
typedef enum err (*envd_process_sink)(
	void *context, const struct envd_process_event *event, struct error *e);
enum err envd_process_decode(
	const void *message, size_t len, envd_process_sink sink, void *context, struct error *e);

/* The number of the signal in "signal: killed" or "signal: segmentation fault (core dumped)"; 0: there is none. */
int envd_signal_of(const char *status);
