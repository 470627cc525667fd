/*
 * setup_script.h - a script that is run once in a new sandbox.
 *
 * Before the script is sent, $NAME and ${NAME} are replaced by the name's value here, quoted or
 * not: from the environment, otherwise from a file .env in the script's directory. Other names
 * stay, and $$ becomes $ (as in Python's Template.safe_substitute, as the agents' tools do). Names
 * that the sandbox sets itself stay, too: HOME, PATH and their like, and each name to which the
 * script gives a value (setup_names.h).
 *
 * The values may be keys. So the text is the input of a command: no list of processes and no log
 * has it. While the script runs, the text lies in a file of the sandbox that only its user can
 * read. The script's output is shown without the values (masked.h).
 *
 * The script's first line names its interpreter; without one the script runs in bash, or in sh
 * where there is no bash.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

/* As in the agents' tools: five minutes. */
#define SETUP_TIMEOUT_MS 300000

/* The user's request; the texts are owned. */
struct setup_request {
	char *path;  /* a file here; NULL: no script */
	char *names; /* "none", or the names to replace, ',' or ':' between; NULL: see above */
	int64_t timeout_ms; /* 0: none */
	int keep_failed;    /* a sandbox whose script failed is kept */
};

#define SETUP_REQUEST_INIT                                                                         \
	{                                                                                          \
		.timeout_ms = SETUP_TIMEOUT_MS                                                     \
	}

void setup_request_release(struct setup_request *r);

struct setup {
	const struct setup_request *request; /* NULL: no script was read */
	struct buf text;                     /* as it is sent */
	struct buf names;                    /* the replaced names: "A, B" */
	/* values of the replaced names, ended by NULL; NULL: none */
	char **values;
};

#define AUTO_SETUP __attribute__((cleanup(setup_release)))

/*
 * Reads the script of `request`, which must outlive `s`. ERR_INVALID: a file or a name is not
 * usable.
 */
enum err setup_read(struct setup *s, const struct setup_request *request, struct error *e);
void setup_release(struct setup *s);

/* Prints on a terminal which names were replaced. */
void setup_tell(const struct setup *s, const char *program);

/*
 * Connects to the sandbox cfg->id and runs the script there. Its output goes to standard error as
 * it comes. ERR_IO: the script failed; ERR_TIMEOUT: the script took longer than allowed.
 */
enum err setup_run(const struct setup *s, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, struct error *e);
