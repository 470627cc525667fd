/*
 * envd_process.h - the messages of process.Process that run a command: requests from a struct
 * envd_command, answers as struct envd_process_event.
 */
#pragma once

#include "providers/e2b/envd_client.h"

/* The longest argument: Linux's MAX_ARG_STRLEN without the NUL at the end. */
#define ENVD_ARGUMENT_MAX 131071
/* The longest request. Linux takes 2 MiB of arguments; the daemon reports an excess itself. */
#define ENVD_REQUEST_MAX ((size_t)4 * 1024 * 1024)

/* Appends the StartRequest. ERR_INVALID: a string is not UTF-8. ERR_TOO_LARGE: an argument. */
enum err envd_start_request(struct buf *out, const struct envd_command *command, struct error *e);

enum envd_process_kind {
	ENVD_NOTHING, /* a sign of life, or an event that this program does not know */
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

/* Hands a StartResponse on. ERR_PROTOCOL: the message is none. Else the result of `sink`. */
typedef enum err (*envd_process_sink)(
	void *context, const struct envd_process_event *event, struct error *e);
enum err envd_process_decode(
	const void *message, size_t len, envd_process_sink sink, void *context, struct error *e);

/*
 * The number of the signal in "signal: killed" or "signal: segmentation fault (core dumped)"; 0:
 * the text names none.
 */
int envd_signal_of(const char *status);
