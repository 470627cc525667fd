#include "tests/oracle/side.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_NAME "oracle-work"
#define DEPTH      4

static const struct {
	uid_t uid;
	gid_t gid;
	size_t groups_count;
	gid_t groups[1];
} users[USERS] = {
	{ .uid = 0, .gid = 0 },
	{ .uid = 20001, .gid = 20001 },
	{ .uid = 20002, .gid = 20002, .groups_count = 1, .groups = { 20001 } },
};

/*
 * The bare system calls change this thread alone, and only effective numbers: root can be taken
 * back.
 */
void become(int user)
{
	static _Thread_local int now;

	if (user == now)
		return;
	if (syscall(SYS_setresuid, -1, 0, -1) ||
		syscall(SYS_setgroups, users[user].groups_count, users[user].groups) ||
		syscall(SYS_setresgid, -1, users[user].gid, -1) ||
		syscall(SYS_setresuid, -1, users[user].uid, -1)) {
		perror("become another user");
		exit(2);
	}
	now = user;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

char **names_read(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	char **names = NULL;
	size_t count = 0;

	if (!stream)
		return NULL;
	for (struct dirent *d; (d = readdir(stream));) {
		if (is_dots(d->d_name))
			continue;
		char **more = realloc(names, (count + 2) * sizeof *names);

		if (!more || !(more[count++] = strdup(d->d_name)))
			abort();
		names = more;
	}
	closedir(stream);
	if (!names)
		return calloc(1, sizeof *names);
	names[count] = NULL;
	qsort(names, count, sizeof *names, compare_names);
	return names;
}

void names_free(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

static long remove_inside(int dir)
{
	char **names = names_read(dir);
	long removed = 0;

	for (char **n = names; n && *n; n++)
		removed += remove_tree(dir, *n);
	names_free(names);
	return removed;
}

long remove_tree(int dir, const char *name)
{
	long removed = 0;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && !fchmodat(dir, name, 0700, 0))
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0700);
		removed = remove_inside(fd);
		close(fd);
		return removed + (unlinkat(dir, name, AT_REMOVEDIR) == 0);
	}
	return unlinkat(dir, name, 0) == 0;
}

static bool is_empty(int dir)
{
	char **names = names_read(dir);
	bool empty = names;

	for (char **n = names; n && *n; n++)
		empty &= !strcmp(*n, "lost+found") || !strcmp(*n, DEPTH_NAME);
	names_free(names);
	return empty;
}

bool side_open(struct side *s, const char *name, const char *path)
{
	*s = (struct side){ .name = name, .path = path, .root = -1 };
	for (int i = 0; i < SLOTS; i++)
		s->slot[i] = -1;
	s->top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->top < 0) {
		perror(path);
		return false;
	}
	if (!is_empty(s->top)) {
		fprintf(stderr, "%s: not empty: give the oracle a directory of its own\n", path);
		return false;
	}
	return true;
}

/* Makes folders, so that the first calls find something. */
static bool make_folders(int root)
{
	static const char *const folders[] = { "p", "q", "r", "p/p", "p/q", "q/p", "q/p/p" };

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (mkdirat(root, folders[i], 0777) || fchmodat(root, folders[i], 0777, 0)) {
			perror(folders[i]);
			return false;
		}
	return true;
}

int side_open_work(int top)
{
	int dir = -1;

	for (int depth = 0; depth < DEPTH; depth++) {
		int next =
			openat(depth ? dir : top, DEPTH_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (dir >= 0)
			close(dir);
		if (next < 0)
			return -1;
		dir = next;
	}
	return dir;
}

bool side_begin(struct side *s)
{
	int dir = s->top;

	remove_tree(s->top, DEPTH_NAME);
	for (int depth = 0; depth < DEPTH; depth++) {
		int next = -1;

		if (!mkdirat(dir, DEPTH_NAME, 0777) && !fchmodat(dir, DEPTH_NAME, 0777, 0))
			next = openat(dir, DEPTH_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir != s->top)
			close(dir);
		if (next < 0) {
			perror(s->path);
			return false;
		}
		dir = next;
	}
	s->root = dir;
	return make_folders(s->root);
}

void side_sync(const struct side *s)
{
	for (int i = 0; i < SLOTS; i++)
		if (s->slot[i] >= 0)
			fsync(s->slot[i]);
}

void side_sync_path(int dir, const char *path)
{
	struct stat st;
	int fd;

	/* Opening a device does something. */
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) ||
		!(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return;
	fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

void side_close_slots(struct side *s)
{
	for (int i = 0; i < SLOTS; i++) {
		if (s->slot[i] >= 0)
			close(s->slot[i]);
		s->slot[i] = -1;
	}
}

void side_clear(struct side *s)
{
	become(0);
	if (chdir("/"))
		perror("/");
	side_close_slots(s);
	if (s->root >= 0)
		close(s->root);
	s->root = -1;
	remove_tree(s->top, DEPTH_NAME);
}

void side_close(struct side *s)
{
	side_clear(s);
	close(s->top);
}
