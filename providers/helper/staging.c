#include "providers/helper/staging.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* As it stands in names: whole, or its first eight bytes as a number. */
struct own {
	char journal[2 * JOURNAL_ID_SIZE + 1];
	char mount[17];
};

static struct own own_of(const unsigned char journal[JOURNAL_ID_SIZE])
{
	struct own own;
	uint64_t mount;

	for (size_t i = 0; i < JOURNAL_ID_SIZE; i++)
		snprintf(own.journal + 2 * i, 3, "%02x", journal[i]);
	memcpy(&mount, journal, sizeof mount);
	snprintf(own.mount, sizeof own.mount, "%016" PRIx64, mount);
	return own;
}

/* How long such a file stays; 0: it is none of these. */
static int64_t lasting_s(const char *name)
{
	if (!strncmp(name, "n-", 2) || !strncmp(name, STAGED_UNLINKED, strlen(STAGED_UNLINKED)))
		return STAGING_FILES_S;
	return strncmp(name, "seq-", 4) ? 0 : STAGING_RECORDS_S;
}

static bool is_own(const char *name, const struct own *own)
{
	const char *id = strchr(name, '-') + 1;

	return !strncmp(id, own->journal, strlen(own->journal)) ||
		!strncmp(id, own->mount, strlen(own->mount));
}

/* A record is written before each change; a rename into staging moves a file's time of change alone. */
static int64_t last_changed_s(const char *name, const struct attr *a)
{
	return lasting_s(name) == STAGING_RECORDS_S ? a->mtime.tv_sec : a->ctime.tv_sec;
}

static bool is_left(int staging_fd, const char *name, const struct own *own, int64_t now_s)
{
	int64_t lasting = lasting_s(name);
	struct attr attr;

	if (!lasting || is_own(name, own) || sys_stat(staging_fd, name, &attr))
		return false;
	return !S_ISDIR(attr.mode) && last_changed_s(name, &attr) < now_s - lasting;
}

void staging_clean(
	const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE], int64_t now_s)
{
	const struct own own = own_of(journal);
	int fd = r->staging_fd < 0 ? -1
				   : openat(r->staging_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_left(r->staging_fd, entry->d_name, &own, now_s))
			unlinkat(r->staging_fd, entry->d_name, 0);
	closedir(dir);
}
