/*
 * guard.h - a process that outlives this one, and deletes the sandbox unless guard_end() was
 * called.
 *
 *      guard_start(&g, &target, e)  ...  guard_add_dir(&g, dir)  ...  guard_end(&g)
 *
 * The guard holds the reading end of a pipe. Any end of this process, also SIGKILL, closes our end
 * of it. Then the guard removes the directory and becomes `sandboxctl delete`, with our standard
 * error.
 */
#pragma once

#include "tools/ctl/target.h"

#include <sys/types.h>

struct guard {
	pid_t pid; /* 0: there is no guard */
	/*
	 * Close-on-exec. Also held by any other process that must end before the sandbox goes
	 * (child_request.held).
	 */
	int held;
};

#define GUARD_NONE                                                                                 \
	{                                                                                          \
		.held = -1                                                                         \
	}

/*
 * From now on `t`'s sandbox does not outlive us. A sandbox that cannot be deleted (PROVIDER_SINGLE)
 * does.
 */
enum err guard_start(struct guard *g, const struct target *t, struct error *e);
/*
 * The directory (absolute) does not outlive us either, where it is empty by then. To be called
 * once.
 */
void guard_add_dir(const struct guard *g, const char *dir);
/* The sandbox stays, or was deleted. No effect on GUARD_NONE. */
void guard_end(struct guard *g);
