#include "tests/support/scratch.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void scratch_make(struct scratch *s)
{
	const char *parent = getenv("TMPDIR");

	*s = (struct scratch){ .fd = -1 };
	snprintf(s->path, sizeof s->path, "%s/sandboxfs-test-XXXXXX",
		parent && *parent ? parent : "/var/tmp");
	cr_assert(mkdtemp(s->path) != NULL, "mkdtemp: %s", strerror(errno));
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->fd >= 0, "%s: %s", s->path, strerror(errno));
}

/* The depth is that of tests: a few hundred directories. */
static void remove_below(int parent, const char *name)
{
	DIR *dir;
	int fd;

	fchmodat(parent, name, 0700, 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(fd, entry->d_name, 0) && (errno == EISDIR || errno == EPERM)) {
			remove_below(fd, entry->d_name);
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
}

void scratch_remove(struct scratch *s)
{
	remove_below(AT_FDCWD, s->path);
	cr_expect(rmdir(s->path) == 0, "%s is left behind: %s", s->path, strerror(errno));
	cleanup_close(&s->fd);
	s->fd = -1;
}

void scratch_write(const struct scratch *s, const char *path, const void *bytes, size_t len)
{
	AUTO_CLOSE int fd = openat(s->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)bytes + done, len - done);

		cr_assert(n > 0, "%s: %s", path, strerror(errno));
		done += (size_t)n;
	}
}

void scratch_write_text(const struct scratch *s, const char *path, const char *text)
{
	scratch_write(s, path, text, strlen(text));
}

char *scratch_read(const struct scratch *s, const char *path, size_t *len)
{
	AUTO_CLOSE int fd = openat(s->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	size_t done = 0;
	char *bytes;

	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	cr_assert(fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size + 1);
	cr_assert(bytes != NULL);
	while (done < (size_t)st.st_size) {
		ssize_t n = read(fd, bytes + done, (size_t)st.st_size - done);

		cr_assert(n > 0, "%s: %s", path, n ? strerror(errno) : "became shorter");
		done += (size_t)n;
	}
	bytes[done] = 0;
	if (len)
		*len = done;
	return bytes;
}

void scratch_mkdir(const struct scratch *s, const char *path, mode_t mode)
{
	cr_assert(mkdirat(s->fd, path, mode) == 0, "%s: %s", path, strerror(errno));
	cr_assert(fchmodat(s->fd, path, mode, 0) == 0, "%s: %s", path, strerror(errno));
}
