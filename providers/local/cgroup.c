#include "providers/local/cgroup.h"

#include "providers/base/cleanup.h"
#include "providers/base/time.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define MOUNT     "/sys/fs/cgroup"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
/* The period of cpu.max in microseconds: the kernel's default. */
#define PERIOD_US 100000
/* Killed processes leave their group within this time, or the group stays. */
#define LEAVING_MS 5000

static enum err unsupported(struct error *e, const char *why)
{
	return error_set(e, ERR_UNSUPPORTED, "%s", why);
}

/* ---- Files of a group ---- */

static bool write_file(int dir, const char *file, const char *text)
{
	AUTO_CLOSE int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool write_number(int dir, const char *file, int64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)number);
	return write_file(dir, file, text);
}

/* Whether `word` stands between blanks and line ends in the file, read from its beginning. */
static bool says(int fd, const char *word)
{
	size_t word_len = strlen(word);
	char text[512];
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

	if (len < 0)
		return false;
	text[len] = 0;
	for (const char *at = text; (at = strstr(at, word)); at += word_len)
		if ((at == text || strchr(" \n", at[-1])) && strchr(" \n", at[word_len]))
			return true;
	return false;
}

static bool has_word(int dir, const char *file, const char *word)
{
	AUTO_CLOSE int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	return says(fd, word);
}

/* ---- The place of the group ---- */

/* The kernel enables no controller in a group with processes, except in the root group. */
static bool enable(int group, const char *controller)
{
	char text[32];

	if (has_word(group, "cgroup.subtree_control", controller))
		return true;
	if (!has_word(group, "cgroup.controllers", controller))
		return false;
	snprintf(text, sizeof text, "+%s", controller);
	return write_file(group, "cgroup.subtree_control", text);
}

static bool enable_all(int group, const struct cgroup_limits *limits)
{
	return (!limits->memory_mb || enable(group, "memory")) &&
		(!limits->pids || enable(group, "pids")) &&
		(limits->cpus <= 0 || enable(group, "cpu"));
}

static enum err limit(int group, const struct cgroup_limits *limits, struct error *e)
{
	char cpu[64];

	snprintf(
		cpu, sizeof cpu, "%lld %d", (long long)(limits->cpus * PERIOD_US + 0.5), PERIOD_US);
	if ((limits->memory_mb && !write_number(group, "memory.max", limits->memory_mb << 20)) ||
		(limits->pids && !write_number(group, "pids.max", limits->pids)) ||
		(limits->cpus > 0 && !write_file(group, "cpu.max", cpu)))
		return error_errno(e, errno, "limits of a cgroup");
	/* A kernel without swap has no such file. */
	if (limits->memory_mb)
		write_file(group, "memory.swap.max", "0");
	return ERR_OK;
}

static enum err make_below(struct cgroup *out, int parent, const char *name,
	const struct cgroup_limits *limits, struct error *e)
{
	AUTO_CLOSE int group = -1;
	enum err kind;

	if (mkdirat(parent, name, 0755) && errno != EEXIST)
		return error_errno(e, errno, "a cgroup");
	out->parent = fcntl(parent, F_DUPFD_CLOEXEC, 0);
	out->name = strdup(name);
	group = openat(parent, name, DIRECTORY | O_NOFOLLOW);
	if (group < 0 || out->parent < 0 || !out->name)
		return error_errno(e, errno, "a cgroup");
	kind = limit(group, limits, e);
	out->procs = kind ? -1 : openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	return kind || out->procs >= 0 ? kind : error_errno(e, errno, "a cgroup's processes");
}

enum err cgroup_make_in(struct cgroup *out, const char *mount, const char *own, const char *name,
	const struct cgroup_limits *limits, struct error *e)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof path, "%s%s", mount, own);

	*out = CGROUP_NONE;
	if (len < 0 || (size_t)len >= sizeof path)
		return unsupported(e, "this process's cgroup has too long a name");
	for (char *end = path + len; end; end = strrchr(path + strlen(mount), '/')) {
		AUTO_CLOSE int group = -1;

		*end = 0;
		group = open(path, DIRECTORY);
		if (group >= 0 && enable_all(group, limits) &&
			!make_below(out, group, name, limits, NULL))
			return ERR_OK;
		cgroup_release(out);
	}
	return unsupported(e, "no cgroup above this process's lets it make one");
}

/* "0::/user.slice/..." among the lines of those of version 1. */
static bool own_group(char *out, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (file && !found && fgets(out, (int)size, file))
		found = !strncmp(out, "0::/", 4);
	if (file)
		fclose(file);
	if (!found)
		return false;
	out[strcspn(out, "\n")] = 0;
	memmove(out, out + 3, strlen(out + 3) + 1);
	return true;
}

enum err cgroup_make(
	struct cgroup *out, const char *name, const struct cgroup_limits *limits, struct error *e)
{
	char own[PATH_MAX];
	struct statfs fs;

	*out = CGROUP_NONE;
	if (statfs(MOUNT, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC || !own_group(own, sizeof own))
		return unsupported(e, "no cgroup v2 is mounted at " MOUNT);
	return cgroup_make_in(out, MOUNT, own, name, limits, e);
}

enum err cgroup_admit(const struct cgroup *c, pid_t pid, struct error *e)
{
	char text[32];
	int len = snprintf(text, sizeof text, "%d", (int)pid);

	return write(c->procs, text, (size_t)len) == len
		? ERR_OK
		: error_errno(e, errno, "a command's cgroup");
}

/* The last processes of a jail are still ending when its first one was waited for. */
static void await_empty(int group)
{
	int64_t until = monotonic_ms() + LEAVING_MS, left = LEAVING_MS;
	AUTO_CLOSE int fd = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd change = { .fd = fd, .events = POLLPRI };

	/* The kernel tells of changes since the last reading by this descriptor. */
	while (left > 0 && says(fd, "populated 1")) {
		poll(&change, 1, (int)left);
		left = until - monotonic_ms();
	}
}

static void remove_group(const struct cgroup *c)
{
	AUTO_CLOSE int group = -1;

	if (!unlinkat(c->parent, c->name, AT_REMOVEDIR) || errno != EBUSY)
		return;
	group = openat(c->parent, c->name, DIRECTORY | O_NOFOLLOW);
	await_empty(group);
	unlinkat(c->parent, c->name, AT_REMOVEDIR);
}

void cgroup_release(struct cgroup *c)
{
	if (c->name && c->parent >= 0)
		remove_group(c);
	cleanup_close(&c->procs);
	cleanup_close(&c->parent);
	free(c->name);
	*c = CGROUP_NONE;
}
