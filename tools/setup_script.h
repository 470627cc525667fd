/*
 * setup.h - a script that is run once in a sandbox that was just made.
 *
 * Before it travels, $NAME and ${NAME} become what the environment here has of that name, quoted or not; unknown names stay,
 * and $$ becomes $ (as Python's Template.safe_substitute does, for the agents' tools have it so). The expanded text may
 * hold keys: it is the input of a command, so that it is in no list of processes and no log, and lies for as long as it
 * runs in a file of the sandbox that its user alone can read.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

/* The agents' tools give it five minutes. */
#define SETUP_TIMEOUT_MS 300000

struct setup {
	const char *path; /* as the user named it */
	struct buf text;  /* expanded */
};

#define AUTO_SETUP __attribute__((cleanup(setup_release)))

/* Reads and expands it. ERR_INVALID: it is no text of UTF-8. */
enum err setup_read(struct setup *s, const char *path, struct error *e);
void setup_release(struct setup *s);

/* What it prints comes on standard error as it comes. ERR_IO: it failed; ERR_TIMEOUT: it took longer than it may. */
enum err setup_run(const struct setup *s, struct provider *p, const struct call *call,
	int64_t timeout_ms, struct error *e);

/* What the script becomes. */
void setup_expand(const char *text, size_t len, struct buf *out);
