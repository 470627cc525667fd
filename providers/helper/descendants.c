#include "providers/helper/descendants.h"

#include "providers/base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct process {
	pid_t pid, parent;
	bool is_ours;
};

struct processes {
	struct process *all;
	size_t count, room;
};

/* proc(5): "PID (NAME) STATE PARENT ...", where the name may hold anything. */
static pid_t parent_of(int proc, const char *pid)
{
	char path[64], text[512];
	AUTO_CLOSE int fd = -1;
	const char *name_end;
	ssize_t len;

	snprintf(path, sizeof path, "%.20s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (len <= 0)
		return 0;
	text[len] = 0;
	name_end = strrchr(text, ')');
	return name_end && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

static bool add(struct processes *p, pid_t pid, pid_t parent)
{
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct process *all = realloc(p->all, room * sizeof *all);

		if (!all)
			return false;
		p->all = all;
		p->room = room;
	}
	p->all[p->count++] = (struct process){ pid, parent, false };
	return true;
}

static void read_all(struct processes *p)
{
	DIR *dir = opendir("/proc");

	if (!dir)
		return;
	for (const struct dirent *d; (d = readdir(dir));) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && !add(p, pid, parent_of(dirfd(dir), d->d_name)))
			break;
	}
	closedir(dir);
}

static bool has_our_parent(const struct processes *p, const struct process *child, pid_t first)
{
	if (child->parent == first)
		return true;
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].pid == child->parent)
			return p->all[i].is_ours;
	return false;
}

/* Process numbers wrap around, so a parent may stand behind its child. */
static void mark(struct processes *p, pid_t first)
{
	bool is_more = true;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < p->count; i++) {
			struct process *one = &p->all[i];

			if (one->is_ours || !has_our_parent(p, one, first))
				continue;
			one->is_ours = is_more = true;
		}
	}
}

void descendants_signal(pid_t process, int signal)
{
	struct processes p = { 0 };

	read_all(&p);
	mark(&p, process);
	for (size_t i = 0; i < p.count; i++)
		if (p.all[i].is_ours)
			kill(p.all[i].pid, signal);
	free(p.all);
}
