#include "cache/session/fault.h"

#ifdef FAULT_POINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_named(const char *fault, const char *name)
{
	size_t len = strlen(name);

	return fault && !strncmp(fault, name, len) && fault[len] == ':';
}

bool fault_is_due(const char *name)
{
	static atomic_long passed;
	const char *fault = getenv("SANDBOXFS_FAULT");

	return is_named(fault, name) &&
		atomic_fetch_add(&passed, 1) + 1 == atol(strchr(fault, ':') + 1);
}

void fault_kill(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

#endif
