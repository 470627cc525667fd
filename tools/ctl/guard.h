/*
 * guard.h - a process that outlives this one, and deletes a sandbox when it was not told that somebody else does.
 *
 *      guard_start(&g, &target, e)  ...  guard_end(&g)
 *
 * It holds the reading end of a pipe: whatever ends us, also SIGKILL, closes our end of it. Then it becomes
 * `sandboxctl delete`, whose complaints come on the standard error that we had.
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

/* From now on `t`'s sandbox does not outlive us; none is started for one that cannot be deleted (PROVIDER_SINGLE). */
enum err guard_start(struct guard *g, const struct target *t, struct error *e);
/* The sandbox is nobody's any more, or its user's. Of GUARD_NONE nothing. */
void guard_end(struct guard *g);
