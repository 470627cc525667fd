/*
 * command.h - commands that outlive the request that starts them.
 *
 * A command runs under a supervisor (supervise.h), a process of its own that records the output in
 * a file of staging (record.h). Requests name the record by a marker, which the client chose: one
 * request starts the command, and any number of them follow it, each from where the one before
 * ended. A request to start a marker that was started before follows it. So either request may be
 * sent again when its answer was lost: no command runs twice.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

#include <stdatomic.h>

/* Digits of 128 bits in hexadecimal. */
#define COMMAND_MARKER_LEN 32
/* The most records removed by one request, and the most variables of one command. */
#define COMMAND_WORDS_MAX 10000

struct command_request {
	const char *marker;
	const char *text;       /* for /bin/sh; NULL: only follow */
	const char *cwd;        /* relative to the shown root */
	const char *const *env; /* NAME=value, added to the helper's environment */
	size_t env_count;
	const void *input; /* standard input */
	size_t input_len;
	/* 0: none. At the limit TERM to all the command's processes and, 5 s later, KILL */
	uint64_t timeout_ms;
	uint64_t from;       /* 0, or `next` of the last piece that came */
	uint32_t wait_ms;    /* the longest wait for the end */
	uint32_t more_ms;    /* the longest wait after the first output of this answer */
	uint32_t answer_max; /* an answer ends when it has so many bytes of output */
	/* Markers of commands whose end was received: their records are removed. */
	const char *const *forget;
	size_t forget_count;
};

enum command_kind {
	COMMAND_OUT = 1, /* output */
	COMMAND_ERR,
	COMMAND_RUNNING, /* this and the following kinds end an answer */
	COMMAND_ENDED,
	COMMAND_LOST,    /* the supervisor was killed or could not write: no more will be known */
	COMMAND_REFUSED, /* the command was not started */
};

struct command_piece {
	enum command_kind kind;
	uint64_t next;     /* where the next request follows from */
	const void *bytes; /* COMMAND_OUT, COMMAND_ERR: at most VERB_DATA_MAX */
	size_t len;
	/*
	 * COMMAND_ENDED: 128 + the number of the signal that ended the command; 124 at the time
	 * limit
	 */
	uint32_t exit_code;
	bool timed_out;
	/* COMMAND_ENDED: of the shown root, read after the end; mode 0: could not be read */
	struct attr root;
	enum err err;  /* COMMAND_REFUSED */
	char why[160]; /* for a person; "" where there is nothing to say */
};

typedef enum err (*command_sink)(void *context, const struct command_piece *piece, struct error *e);

/*
 * Starts or follows a command. ERR_NOT_FOUND: there is no record to follow. ERR_UNSUPPORTED: there
 * is no staging. `is_stopped` ends the wait, never the command.
 */
enum err helper_command(const struct root *r, const struct command_request *request,
	const atomic_bool *is_stopped, command_sink sink, void *context, struct error *e);

/*
 * Ends a command and all its processes: TERM and, 5 s later, KILL; with `now` KILL at once. Does
 * not wait for the end. A command whose record was not claimed yet will never start; the supervisor
 * of a command that is being started is waited for at most 5 s (ERR_BUSY). Later output is not
 * recorded, and the final record holds the end alone.
 */
enum err helper_command_stop(const struct root *r, const char *marker, bool now, struct error *e);
