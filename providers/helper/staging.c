#include "providers/helper/staging.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool is_record(const char *name)
{
	return has_prefix(name, STAGED_SEQUENCE "-") || has_prefix(name, STAGED_FENCE "-") ||
		has_prefix(name, STAGED_ONCE "-");
}

/* How long a file of this name stays; 0: no such file. */
static int64_t lasting_s(const char *name)
{
	if (has_prefix(name, STAGED_UNLINKED) || has_prefix(name, STAGED_WATCH "-"))
		return STAGING_UNLINKED_S;
	return is_record(name) || has_prefix(name, STAGED_NEW) ? STAGING_UNSYNCED_S : 0;
}

/*
 * A record is written before each change and a fence before each batch, so their mtime counts. For
 * others the ctime counts: a rename into staging changes the ctime alone.
 */
static int64_t last_changed_s(const char *name, const struct attr *a)
{
	return is_record(name) ? a->mtime.tv_sec : a->ctime.tv_sec;
}

static bool is_left(int staging_fd, const char *name, int64_t now_s)
{
	int64_t lasting = lasting_s(name);
	struct attr attr;

	if (!lasting || sys_stat(staging_fd, name, &attr))
		return false;
	return !S_ISDIR(attr.mode) && last_changed_s(name, &attr) < now_s - lasting;
}

void staging_clean(const struct root *r, int64_t now_s)
{
	int fd = r->staging_fd < 0 ? -1
				   : openat(r->staging_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_left(r->staging_fd, entry->d_name, now_s))
			unlinkat(r->staging_fd, entry->d_name, 0);
	closedir(dir);
}
