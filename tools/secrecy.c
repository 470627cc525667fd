#include "tools/secrecy.h"

#include "providers/variables.h"

#include <sys/prctl.h>
#include <sys/resource.h>

/* The hard limit stays: commands of an embedded sandbox inherit it and may raise their own. */
static void forbid_cores(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit))
		return;
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

void secrecy_begin(bool is_debugged)
{
	variables_hide();
	if (is_debugged)
		return;
	forbid_cores();
	prctl(PR_SET_DUMPABLE, 0);
}
