#include "providers/local/devices.h"

#include "providers/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Linux's numbers, the same on every architecture. */
const struct local_device local_devices[] = { { "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 },
	{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 }, { .name = NULL } };

/* A command may have changed the modes of its devices; each open restores them. */
static bool make(int dir, const struct local_device *d)
{
	if (mknodat(dir, d->name, S_IFCHR | 0666, makedev(d->major, d->minor)) && errno != EEXIST)
		return false;
	return !fchownat(dir, d->name, 0, 0, AT_SYMLINK_NOFOLLOW) &&
		!fchmodat(dir, d->name, 0666, 0);
}

bool local_devices_make(int dir)
{
	AUTO_CLOSE int null = -1;

	if (geteuid())
		return false;
	for (const struct local_device *d = local_devices; d->name; d++)
		if (!make(dir, d))
			return false;
	null = openat(dir, "null", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return null >= 0;
}
