/*
 * fault.h - places where a test kills this process. An ordinary build has none of them.
 *
 * Compiled with -DFAULT_POINTS (make FAULTS=1) and started with SANDBOXFS_FAULT=NAME:COUNT the
 * process kills itself with SIGKILL when it comes to the place NAME for the COUNTth time. `grep
 * fault_` finds the names.
 */
#pragma once

#include <stdbool.h>

#ifdef FAULT_POINTS
bool fault_is_due(const char *name);
_Noreturn void fault_kill(void);
#else
#define fault_is_due(name) ((void)(name), false)
#define fault_kill()       ((void)0)
#endif

static inline void fault_point(const char *name)
{
	if (fault_is_due(name))
		fault_kill();
}
