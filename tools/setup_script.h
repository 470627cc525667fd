/*
 * setup_script.h - a script that is run once in a sandbox that was just made.
 *
 * Before it travels, $NAME and ${NAME} become what the name has here, quoted or not: in the
 * environment, else in a file .env beside the script. Other names stay, and $$ becomes $ (as Python's
 * Template.safe_substitute does, for the agents' tools have it so). What the sandbox has of its own
 * stays, too: HOME, PATH and their like, and each name to which the script itself gives a value
 * (setup_names.h).
 *
 * The values may be keys: the text is the input of a command, so that it is in no list of processes
 * and no log, and lies for as long as it runs in a file of the sandbox that its user alone can read.
 * What the script prints is shown without them (masked.h).
 *
 * The script's first line names its interpreter; without one it is bash, or sh where there is none.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

/* The agents' tools give it five minutes. */
#define SETUP_TIMEOUT_MS 300000

/* What was asked for; the texts are owned. */
struct setup_request {
	char *path;  /* a file here; NULL: no script */
	char *names; /* "none", or those that are replaced, ',' or ':' between; NULL: see above */
	int64_t timeout_ms; /* 0: none */
	int keep_failed;    /* a sandbox whose script failed stays */
};

#define SETUP_REQUEST_INIT                                                                         \
	{                                                                                          \
		.timeout_ms = SETUP_TIMEOUT_MS                                                     \
	}

void setup_request_release(struct setup_request *r);

struct setup {
	const struct setup_request *request; /* NULL: nothing was read */
	struct buf text;                     /* as it travels */
	struct buf names;                    /* that were replaced: "A, B" */
	char **values;                       /* theirs, ended by NULL; NULL: none */
};

#define AUTO_SETUP __attribute__((cleanup(setup_release)))

/* Reads the script of `request`, which must outlive `s`. ERR_INVALID: a file or a name will not do. */
enum err setup_read(struct setup *s, const struct setup_request *request, struct error *e);
void setup_release(struct setup *s);

/* Says on a terminal which names were replaced. */
void setup_tell(const struct setup *s, const char *program);

/*
 * Connects to the sandbox cfg->id and runs it there. What it prints comes on standard error as it
 * comes. ERR_IO: it failed; ERR_TIMEOUT: it took longer than it may.
 */
enum err setup_run(const struct setup *s, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, struct error *e);
