/*
 * Every directory has a watch, which is set before the directory is read: an entry that appears in
 * between is both read and reported, never missed.
 */
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"
#include "providers/helper/watch_inside.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define EVENTS_WANTED                                                                              \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB |             \
		IN_ONLYDIR | IN_EXCL_UNLINK)
/* No watched directory above reports the root's events. */
#define EVENTS_OF_ROOT (EVENTS_WANTED | IN_MOVE_SELF)

/* Directories still to be watched. */
struct pending {
	struct pending *next;
	char path[];
};

struct cover {
	struct pending *first;
	bool tells; /* entries found are new and reported */
	/* a directory that could not be watched before; NULL: first try */
	const char *again;
	bool stays_lost; /* `again` was refused again */
	bool is_full;    /* the system's limit is reached */
};

/* The most lost directories that are remembered. */
#define LOST_MAX 65536

static enum err push(struct cover *c, const char *path, struct error *e)
{
	size_t len = strlen(path);
	struct pending *p = malloc(sizeof *p + len + 1);

	if (!p)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	memcpy(p->path, path, len + 1);
	p->next = c->first;
	c->first = p;
	return ERR_OK;
}

static struct pending *pop(struct cover *c)
{
	struct pending *p = c->first;

	if (p)
		c->first = p->next;
	return p;
}

static bool is_dir_entry(int dir_fd, const struct dirent *d)
{
	struct attr attr;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return sys_stat(dir_fd, d->d_name, &attr) == 0 && S_ISDIR(attr.mode);
}

static enum err cover_entry(struct watcher *w, struct cover *c, const char *dir, const char *name,
	bool is_dir, struct error *e)
{
	AUTO_FREE char *path = path_join(dir, name);
	enum err k = ERR_OK;

	if (!path)
		return error_set(e, ERR_NO_MEMORY, "%s", dir);
	/* The staging directory is recognized when opened. */
	if (c->tells && !is_dir)
		k = watch_tell_state(w, WATCH_CREATED, path, false, e);
	if (k == ERR_OK && is_dir)
		k = push(c, path, e);
	return k;
}

static enum err cover_entries(
	struct watcher *w, struct cover *c, const char *dir, DIR *stream, struct error *e)
{
	enum err k = ERR_OK;

	while (k == ERR_OK) {
		const struct dirent *d;

		errno = 0;
		d = readdir(stream);
		if (!d)
			return errno ? watch_tell_lost(w, dir, e) : ERR_OK;
		if (!path_name_ok(d->d_name, strlen(d->d_name)))
			continue;
		/* The watch itself needs only the directories of the tree. */
		if (c->tells || is_dir_entry(dirfd(stream), d))
			k = cover_entry(w, c, dir, d->d_name, is_dir_entry(dirfd(stream), d), e);
	}
	return k;
}

/* Watches the open directory, whatever its name leads to by now. */
static int add_watch(const struct watcher *w, int dir_fd, uint32_t events)
{
	char path[PIN_PATH_SIZE];
	int wd;

	pin_path(dir_fd, path);
	wd = inotify_add_watch(w->fd, path, events);
	if (wd < 0 && errno == ENOENT)
		errno = EOPNOTSUPP;
	return wd;
}

/* Takes the descriptor. */
static enum err read_covered(
	struct watcher *w, struct cover *c, const char *path, int *dir_fd, struct error *e)
{
	DIR *stream = fdopendir(*dir_fd);
	enum err k;

	if (!stream)
		return error_errno(e, errno, "%s", path);
	take_fd(dir_fd);
	k = cover_entries(w, c, path, stream, e);
	closedir(stream);
	return k;
}

/* Changes below the directory will not be reported; only its existence is. */
static enum err leave_dir(
	struct watcher *w, const struct cover *c, const char *path, struct error *e)
{
	enum err k = c->tells ? watch_tell_state(w, WATCH_CREATED, path, true, e) : ERR_OK;

	return k == ERR_OK ? watch_tell_lost(w, path, e) : k;
}

/* Leaves the directory for now: a later try may succeed. */
static enum err lose_dir(struct watcher *w, struct cover *c, const char *path, struct error *e)
{
	c->stays_lost |= c->again && !strcmp(path, c->again);
	if (c->stays_lost)
		return ERR_OK;
	if (w->lost.count < LOST_MAX && !path_set_put(&w->lost, path))
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	return leave_dir(w, c, path, e);
}

/* Reports the directory after its watch was set, so that the report is no older than the watch. */
static enum err tell_opened(struct watcher *w, const char *path, int dir_fd, struct error *e)
{
	struct attr attr;
	enum err k = attr_of_fd(dir_fd, &attr, e);

	return k == ERR_OK ? watch_tell(w, WATCH_CREATED, path, true, &attr, e) : k;
}

static enum err watch_opened(
	struct watcher *w, struct cover *c, const char *path, int *dir_fd, struct error *e)
{
	int wd = add_watch(w, *dir_fd, *path ? EVENTS_WANTED : EVENTS_OF_ROOT);
	enum err k = ERR_OK;
	char *kept;

	/*
	 * The limit is the system's, the right to read the sandbox's. Without a watch on the root
	 * there is nothing to watch.
	 */
	c->is_full |= wd < 0 && errno == ENOSPC;
	if (wd < 0 && *path && (errno == ENOSPC || errno == EACCES))
		return lose_dir(w, c, path, e);
	if (wd < 0)
		return error_errno(e, errno, "%s: inotify", path);
	kept = strdup(path);
	if (!kept || !watch_table_put(&w->table, wd, kept))
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	if (c->tells && *path)
		k = tell_opened(w, path, *dir_fd, e);
	return k == ERR_OK ? read_covered(w, c, path, dir_fd, e) : k;
}

static bool is_gone(enum err k)
{
	return k == ERR_NOT_FOUND || k == ERR_NOT_DIR || k == ERR_STALE;
}

static enum err cover_dir(struct watcher *w, struct cover *c, const char *path, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	struct error why = { 0 };
	struct attr attr;
	enum err k = root_open_dir(w->root, path, NULL, &fd, &why);

	/* An event of its own reports the removal. */
	if (is_gone(k) && *path)
		return ERR_OK;
	if (*path && (k == ERR_DENIED || k == ERR_NAME_TOO_LONG))
		return lose_dir(w, c, path, e);
	if (k != ERR_OK)
		return error_set(e, k, "%s", why.text);
	k = attr_of_fd(fd, &attr, e);
	if (k != ERR_OK || root_hides(w->root, &attr))
		return k;
	return attr.dev == w->dev ? watch_opened(w, c, path, &fd, e) : leave_dir(w, c, path, e);
}

static enum err cover_from(struct watcher *w, struct cover *c, const char *path, struct error *e)
{
	enum err k = push(c, path, e);

	for (struct pending *p = pop(c); p; p = pop(c)) {
		if (k == ERR_OK)
			k = watch_check_cancelled(w, e);
		if (k == ERR_OK)
			k = cover_dir(w, c, p->path, e);
		free(p);
	}
	return k;
}

enum err watch_cover(struct watcher *w, const char *path, bool tells, struct error *e)
{
	struct cover c = { .tells = tells };

	return cover_from(w, &c, path, e);
}

/* ---- Lost directories ---- */

/* The directory is reported after everything below is watched, or reported as lost. */
static enum err cover_again(
	struct watcher *w, const char *path, bool *is_full, bool *stays, struct error *e)
{
	struct cover c = { .again = path };
	enum err k = cover_from(w, &c, path, e);

	*is_full = c.is_full;
	*stays = c.stays_lost;
	return k == ERR_OK && !c.stays_lost ? watch_tell_found(w, path, e) : k;
}

static enum err put_back(struct watcher *w, const struct path_set *stay, struct error *e)
{
	bool is_whole = true;

	for (size_t n = 0; n < stay->count; n++)
		is_whole &= path_set_put(&w->lost, stay->all[n]);
	return is_whole ? ERR_OK : error_set(e, ERR_NO_MEMORY, "watch");
}

enum err watch_cover_lost(struct watcher *w, struct error *e)
{
	struct path_set stay = { 0 };
	bool is_full = false;
	enum err k = ERR_OK;

	w->has_given_back = false;
	w->tried_ms = monotonic_ms();
	while (k == ERR_OK && !is_full) {
		AUTO_FREE char *path = path_set_take_below(&w->lost, NULL);
		bool stays = false;

		if (!path)
			break;
		k = cover_again(w, path, &is_full, &stays, e);
		if (stays && !path_set_put(&stay, path))
			k = error_set(e, ERR_NO_MEMORY, "%s", path);
	}
	if (k == ERR_OK)
		k = put_back(w, &stay, e);
	path_set_release(&stay);
	return k;
}

enum err watch_drop_lost(struct watcher *w, const char *path, struct error *e)
{
	AUTO_FREE char *self = path ? path_set_take(&w->lost, path) : NULL;
	enum err k = self ? watch_tell_found(w, self, e) : ERR_OK;

	while (k == ERR_OK) {
		AUTO_FREE char *below = path_set_take_below(&w->lost, path);

		if (!below)
			break;
		k = watch_tell_found(w, below, e);
	}
	return k;
}
