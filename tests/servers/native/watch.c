/*
 * watch DIRECTORY recursive|flat - reports changes of a directory, as the watchers of sandbox
 * daemons do.
 *
 * Each record is a letter, a path relative to the directory and a NUL: S (watching, no path), then
 * C created or moved in, W written, D removed, R moved away, H attributes changed; E and a text end
 * the stream. "." is the directory itself. Directories that come are watched too: the directories
 * already inside are reported as created, files already inside are not.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGES                                                                                    \
	(IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM |             \
		IN_DELETE_SELF | IN_MOVE_SELF)

struct watch {
	int fd;
	bool is_recursive;
	const char *root;
	int root_wd;
	char **paths; /* by watch descriptor, relative to the root, "" for itself; NULL: none */
	size_t count;
	/* a directory that was moved away just now, whose other half may follow; NULL: none */
	char *moved;
	uint32_t cookie;
};

static void tell(char kind, const char *text)
{
	putchar(kind);
	fputs(text, stdout);
	putchar('\0');
}

static void fail(const char *what)
{
	tell('E', what);
	fflush(stdout);
	exit(1);
}

static char *join(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%s", directory, *directory && *name ? "/" : "", name) < 0)
		fail("out of memory");
	return path;
}

/*
 * ---- The directories watched ------------------------------------------------------------------
 */

static void remember(struct watch *w, int wd, const char *path)
{
	size_t slot = (size_t)wd;

	if (slot >= w->count) {
		size_t count = slot * 2 + 64;
		char **paths = realloc(w->paths, count * sizeof *paths);
		if (!paths)
			fail("out of memory");
		memset(paths + w->count, 0, (count - w->count) * sizeof *paths);
		w->paths = paths;
		w->count = count;
	}
	char *copy = join(path, "");
	free(w->paths[slot]);
	w->paths[slot] = copy;
}

static void forget(struct watch *w, int wd)
{
	free(w->paths[wd]);
	w->paths[wd] = NULL;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* A directory that was moved away is not watched any more. */
static void forget_below(struct watch *w, const char *directory)
{
	for (size_t wd = 1; wd < w->count; wd++) {
		if (!w->paths[wd] || !is_below(w->paths[wd], directory))
			continue;
		inotify_rm_watch(w->fd, (int)wd);
		forget(w, (int)wd);
	}
}

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool add(struct watch *w, const char *path)
{
	char *full = *path ? join(w->root, path) : join(w->root, "");
	int wd = inotify_add_watch(w->fd, full, CHANGES | IN_ONLYDIR);
	free(full);
	if (wd < 0)
		return false;
	remember(w, wd, path);
	if (!*path)
		w->root_wd = wd;
	return true;
}

static void add_tree(struct watch *w, const char *path, bool is_reported);

static void add_child(struct watch *w, const char *parent, const char *name, bool is_reported)
{
	char *path = join(parent, name);
	char *full = join(w->root, path);

	if (is_directory(full)) {
		if (is_reported)
			tell('C', path);
		add_tree(w, path, is_reported);
	}
	free(full);
	free(path);
}

static void add_tree(struct watch *w, const char *path, bool is_reported)
{
	if (!add(w, path))
		return;
	char *full = join(w->root, path);
	DIR *dir = opendir(full);
	free(full);
	if (!dir)
		return;
	for (struct dirent *d; (d = readdir(dir));) {
		if (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN)
			continue;
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			add_child(w, path, d->d_name, is_reported);
	}
	closedir(dir);
}

/*
 * ---- Events ------------------------------------------------------------------------------------
 */

static void about_itself(struct watch *w, const struct inotify_event *event)
{
	bool is_root = event->wd == w->root_wd;

	if (is_root && event->mask & IN_ATTRIB)
		tell('H', ".");
	if (is_root && event->mask & IN_DELETE_SELF)
		tell('D', ".");
	if (is_root && event->mask & IN_MOVE_SELF) {
		tell('R', ".");
		forget_below(w, "");
		for (size_t wd = 1; wd < w->count; wd++)
			inotify_rm_watch(w->fd, (int)wd);
	}
}

/* A move is two events, one after the other. A directory without the second has left the tree. */
static bool is_second_half(struct watch *w, const struct inotify_event *event)
{
	bool is_same = w->moved && event->mask & IN_MOVED_TO && event->cookie == w->cookie;

	if (w->moved && !is_same)
		forget_below(w, w->moved);
	free(w->moved);
	w->moved = NULL;
	return is_same;
}

static void follow(
	struct watch *w, const struct inotify_event *event, const char *path, bool is_renamed)
{
	if (!w->is_recursive || !(event->mask & IN_ISDIR))
		return;
	if (event->mask & (IN_CREATE | IN_MOVED_TO))
		add_tree(w, path, !is_renamed);
	if (event->mask & IN_MOVED_FROM) {
		w->moved = join(path, "");
		w->cookie = event->cookie;
	}
}

static void about_entry(struct watch *w, const struct inotify_event *event, bool is_renamed)
{
	char *path = join(w->paths[event->wd], event->name);

	if (event->mask & (IN_CREATE | IN_MOVED_TO))
		tell('C', path);
	if (event->mask & IN_MOVED_FROM)
		tell('R', path);
	if (event->mask & IN_ATTRIB)
		tell('H', path);
	if (event->mask & IN_MODIFY)
		tell('W', path);
	if (event->mask & IN_DELETE)
		tell('D', path);
	follow(w, event, path, is_renamed);
	free(path);
}

static void handle(struct watch *w, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		fail("fsnotify: queue or buffer overflow");
	bool is_renamed = is_second_half(w, event);
	if (event->wd <= 0 || (size_t)event->wd >= w->count || !w->paths[event->wd])
		return;
	if (event->len == 0)
		about_itself(w, event);
	else
		about_entry(w, event, is_renamed);
	if (event->mask & IN_IGNORED)
		forget(w, event->wd);
}

static void read_events(struct watch *w)
{
	_Alignas(struct inotify_event) char block[65536];
	ssize_t n;

	while ((n = read(w->fd, block, sizeof block)) > 0) {
		for (char *at = block; at < block + n;) {
			const struct inotify_event *event = (const struct inotify_event *)at;
			handle(w, event);
			at += sizeof *event + event->len;
		}
		fflush(stdout);
	}
	fail(strerror(errno));
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: watch DIRECTORY recursive|flat\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct watch w = { .fd = inotify_init1(IN_CLOEXEC),
		.is_recursive = strcmp(argv[2], "recursive") == 0,
		.root = argv[1] };
	if (w.fd < 0)
		fail(strerror(errno));
	if (w.is_recursive)
		add_tree(&w, "", false);
	else
		add(&w, "");
	if (!w.root_wd)
		fail(strerror(errno));
	tell('S', "");
	fflush(stdout);
	read_events(&w);
}
