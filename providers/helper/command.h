/*
 * command.h - commands that outlive the request that starts them.
 *
 * A command runs under a supervisor (supervise.h), a process of its own that records what it prints in a file of staging
 * (record.h). Requests name the record by a marker that their sender chose: one that starts a command, and any number that
 * follow it from where the one before ended. To start a marker that was started before is to follow it, so both may be
 * sent again when their answer was lost: no command runs twice.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

#include <stdatomic.h>

/* Digits of 128 bits in hexadecimal. */
#define COMMAND_MARKER_LEN 32
/* What is forgotten in one request, and variables of one command. */
#define COMMAND_WORDS_MAX 10000

struct command_request {
	const char *marker;
	const char *text;       /* for /bin/sh; NULL: only follow */
	const char *cwd;        /* relative to the shown root */
	const char *const *env; /* NAME=value, added to what the helper has */
	size_t env_count;
	const void *input; /* standard input */
	size_t input_len;
	uint64_t timeout_ms; /* 0: none. Then TERM to all it started and, 5 s later, KILL */
	uint64_t from;       /* 0, or `next` of the last piece that came */
	uint32_t wait_ms;    /* at most so long for the end */
	uint32_t more_ms;    /* at most so long from the first output that is passed on */
	uint32_t answer_max; /* bytes of output that are enough for one answer */
	/* Markers of commands whose end has come: their records go. */
	const char *const *forget;
	size_t forget_count;
};

enum command_kind {
	COMMAND_OUT = 1, /* output */
	COMMAND_ERR,
	COMMAND_RUNNING, /* the last piece of an answer: one of these */
	COMMAND_ENDED,
	COMMAND_LOST, /* its supervisor was killed or could not write: nothing more will be known */
	COMMAND_REFUSED, /* it was not started */
};

struct command_piece {
	enum command_kind kind;
	uint64_t next;     /* where to follow from */
	const void *bytes; /* COMMAND_OUT, COMMAND_ERR: at most VERB_DATA_MAX */
	size_t len;
	uint32_t
		exit_code; /* COMMAND_ENDED: 128 + the signal's number when one ended it; 124 at its time */
	bool timed_out;
	struct attr
		root;  /* COMMAND_ENDED: of the shown root, read since; mode 0: it could not be */
	enum err err;  /* COMMAND_REFUSED */
	char why[160]; /* for a person; "" where there is nothing to say */
};

typedef enum err (*command_sink)(void *context, const struct command_piece *piece, struct error *e);

/*
 * Starts or follows. ERR_NOT_FOUND: nothing to follow is there. ERR_UNSUPPORTED: there is no staging. `is_stopped` ends the
 * waiting, never the command.
 */
enum err helper_command(const struct root *r, const struct command_request *request,
	const atomic_bool *is_stopped, command_sink sink, void *context, struct error *e);

/*
 * Ends a command and all it started: TERM and, 5 s later, KILL; or `now` KILL at once. Does not wait. One that was not
 * started yet will not be. What it prints from now on is not recorded, and in the end its record holds its end alone.
 */
enum err helper_command_stop(const struct root *r, const char *marker, bool now, struct error *e);
