/*
 * guard.h - a process that outlives this one, and deletes a sandbox when it was not told that somebody else does.
 *
 *      guard_start(&g, &target, e)  ...  guard_add_dir(&g, dir)  ...  guard_end(&g)
 *
 * It holds the reading end of a pipe: whatever ends us, also SIGKILL, closes our end of it. Then it removes the directory
 * and becomes `sandboxctl delete`, whose complaints come on the standard error that we had.
 */
#pragma once

#include "tools/ctl/target.h"

#include <sys/types.h>

struct guard {
	pid_t pid; /* 0: there is none */
	/* Close-on-exec. What else must have ended before the sandbox goes has it, too (child_request.held). */
	int held;
};

#define GUARD_NONE                                                                                 \
	{                                                                                          \
		.held = -1                                                                         \
	}

/* From now on `t`'s sandbox does not outlive us; one that cannot be deleted (PROVIDER_SINGLE) does. */
enum err guard_start(struct guard *g, const struct target *t, struct error *e);
/* Nor does this directory (absolute) where it is empty by then. Once. */
void guard_add_dir(const struct guard *g, const char *dir);
/* The sandbox is nobody's any more, or its user's. Of GUARD_NONE nothing. */
void guard_end(struct guard *g);
