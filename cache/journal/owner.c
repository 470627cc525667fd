#include "cache/journal/owner.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many characters of the mount's path are written. */
#define MOUNT_SHOWN 250

int journal_owner_text(char who[JOURNAL_OWNER_MAX], const char *mount)
{
	return snprintf(who, JOURNAL_OWNER_MAX, "process %ld%s%.*s", (long)getpid(),
		mount ? ", mounted on " : "", MOUNT_SHOWN, mount ? mount : "");
}

bool journal_owner_is_leaving(const char *who)
{
	const struct mntent *entry;
	char path[64], mount[MOUNT_SHOWN + 1];
	bool is_mounted = false;
	long process;

	if (sscanf(who, "process %ld, mounted on %250[^\n]", &process, mount) != 2)
		return false;
	snprintf(path, sizeof path, "/proc/%ld/mounts", process);
	FILE *table = setmntent(path, "re");

	if (!table)
		return false;
	while (!is_mounted && (entry = getmntent(table)))
		is_mounted = !strncmp(entry->mnt_dir, mount, MOUNT_SHOWN);
	endmntent(table);
	return !is_mounted;
}
