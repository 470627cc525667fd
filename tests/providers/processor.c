#include "tests/providers/processor.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static bool is_native(const char *machine)
{
	struct utsname here;

	return uname(&here) == 0 && strcmp(here.machine, machine) == 0;
}

bool processor_find_runner(const char *machine, char *out, size_t size)
{
	snprintf(out, size, "%s", "");
	if (is_native(machine))
		return true;
	if (!strcmp(machine, "armv7l"))
		machine = "arm";
	snprintf(out, size, "/usr/bin/qemu-%s", machine);
	if (access(out, X_OK) == 0)
		return true;
	snprintf(out, size, "/usr/bin/qemu-%s-static", machine);
	return access(out, X_OK) == 0;
}
