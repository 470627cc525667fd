/*
 * The shown directory is a path, so the watch follows the path. Each directory on the way reports
 * its own move, and the directory of the root reports the root's name. A directory that may not be
 * read reports nothing. The root itself reports its move. While there is no root, the path is
 * looked up every ROOT_AGAIN_MS.
 */
#include "providers/base/cleanup.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"
#include "providers/helper/watch_inside.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#define MOVED (IN_MOVE_SELF | IN_ONLYDIR)
#define NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

static int watch_dir(const struct watcher *w, const char *path, uint32_t mask)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(w->given->base_fd, *path ? path : ".", flags);
	char pinned[PIN_PATH_SIZE];

	if (fd < 0)
		return -1;
	pin_path(fd, pinned);
	/* The root itself has a watch already, where its path begins with the root. */
	return inotify_add_watch(w->fd, pinned, mask | IN_MASK_ADD);
}

/* The text of the path up to each slash, from the lowest directory to the highest. */
void watch_above(struct watcher *w)
{
	AUTO_FREE char *dir = strdup(w->given->path);
	uint32_t mask = MOVED | NAMES;

	w->parent_wd = -1;
	for (char *slash; dir && (slash = strrchr(dir, '/')); mask = MOVED) {
		int wd;

		slash[slash == dir] = 0;
		wd = watch_dir(w, dir, mask);
		if (mask != MOVED)
			w->parent_wd = wd;
		if (slash == dir)
			return;
	}
	if (mask != MOVED)
		w->parent_wd = watch_dir(w, "", mask);
}

bool watch_is_current(const struct watcher *w)
{
	AUTO_ROOT struct root now = { .dir_fd = -1 };
	struct attr attr;
	bool was_there = w->self.ino;

	root_find(w->given, &now);
	if (now.dir_fd < 0 || sys_stat(now.dir_fd, "", &attr))
		return !was_there;
	return was_there && expect_met(&w->self, &attr);
}
