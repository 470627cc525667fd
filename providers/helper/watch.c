/*
 * A watch stands on every directory. Each directory gets its watch before it is read: what appears in between is then
 * both read and reported, never missed. A directory that moved is treated as gone from the old place and new at the
 * other: its watches go and come anew, and what is in it is reported as created.
 */
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/helper.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"
#include "providers/helper/watch_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* At least one event with the longest name. */
#define EVENTS_SIZE ((size_t)64 * 1024)

#define EVENTS_WANTED                                                                              \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB |             \
		IN_ONLYDIR | IN_EXCL_UNLINK)

struct watcher {
	const struct root *root;
	const struct call *call;
	watch_sink sink;
	void *context;
	uint64_t dev; /* the root's: other file systems are not watched */
	int fd;       /* inotify's */
	struct watch_table table;
};

/* Directories still to be watched. */
struct pending {
	struct pending *next;
	char path[];
};

struct cover {
	struct pending *first;
	bool tells; /* what is found is new and reported */
};

static enum err tell(
	struct watcher *w, enum watch_kind kind, const char *path, bool is_dir, struct error *e)
{
	const struct watch_event event = { .kind = kind, .path = path, .is_dir = is_dir };

	return w->sink(w->context, &event, e);
}

static enum err tell_lost(struct watcher *w, const char *path, struct error *e)
{
	return tell(w, WATCH_LOST, path, true, e);
}

/* ---- Covering a tree ---- */

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
	/* The staging directory is found out when it is opened. */
	if (c->tells && !is_dir)
		k = tell(w, WATCH_CREATED, path, false, e);
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
			return errno ? tell_lost(w, dir, e) : ERR_OK;
		if (!path_name_ok(d->d_name, strlen(d->d_name)))
			continue;
		/* A tree of files needs only its directories. */
		if (c->tells || is_dir_entry(dirfd(stream), d))
			k = cover_entry(w, c, dir, d->d_name, is_dir_entry(dirfd(stream), d), e);
	}
	return k;
}

/* Watches the directory that is open, whatever its name leads to by now. */
static int add_watch(const struct watcher *w, int dir_fd)
{
	char path[PIN_PATH_SIZE];
	int wd;

	pin_path(dir_fd, path);
	wd = inotify_add_watch(w->fd, path, EVENTS_WANTED);
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

static enum err watch_opened(
	struct watcher *w, struct cover *c, const char *path, int *dir_fd, struct error *e)
{
	int wd = add_watch(w, *dir_fd);
	char *kept;

	/* The limit is the system's, the right to read the sandbox's. Without the root there is nothing to watch at all. */
	if (wd < 0 && *path && (errno == ENOSPC || errno == EACCES))
		return tell_lost(w, path, e);
	if (wd < 0)
		return error_errno(e, errno, "%s: inotify", path);
	kept = strdup(path);
	if (!kept || !watch_table_put(&w->table, wd, kept))
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	return read_covered(w, c, path, dir_fd, e);
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

	/* An event of its own tells of that. */
	if (is_gone(k) && *path)
		return ERR_OK;
	if (*path && (k == ERR_DENIED || k == ERR_NAME_TOO_LONG))
		return tell_lost(w, path, e);
	if (k != ERR_OK)
		return error_set(e, k, "%s", why.text);
	k = attr_of_fd(fd, &attr, e);
	if (k != ERR_OK || root_hides(w->root, &attr))
		return k;
	if (c->tells && *path)
		k = tell(w, WATCH_CREATED, path, true, e);
	if (k == ERR_OK && attr.dev != w->dev)
		return tell_lost(w, path, e);
	return k == ERR_OK ? watch_opened(w, c, path, &fd, e) : k;
}

static enum err check_cancelled(const struct watcher *w, struct error *e)
{
	if (w->call && w->call->cancel && cancel_thrown(w->call->cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	return ERR_OK;
}

static enum err cover(struct watcher *w, const char *path, bool tells, struct error *e)
{
	struct cover c = { .tells = tells };
	enum err k = push(&c, path, e);

	for (struct pending *p = pop(&c); p; p = pop(&c)) {
		if (k == ERR_OK)
			k = check_cancelled(w, e);
		if (k == ERR_OK)
			k = cover_dir(w, &c, p->path, e);
		free(p);
	}
	return k;
}

/* ---- Events ---- */

static enum err start(struct watcher *w, struct error *e)
{
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return error_errno(e, errno, "inotify");
	return cover(w, "", false, e);
}

static void stop(struct watcher *w)
{
	cleanup_close(&w->fd);
	w->fd = -1;
	watch_table_release(&w->table);
}

/*
 * Events were lost, perhaps of new directories. Said twice: at once, so that nobody goes on trusting, and again when the
 * watches stand, because what was read meanwhile may already be old.
 */
static enum err start_over(struct watcher *w, struct error *e)
{
	enum err k = tell_lost(w, "", e);

	stop(w);
	if (k == ERR_OK)
		k = start(w, e);
	return k == ERR_OK ? tell_lost(w, "", e) : k;
}

static void forget_watch(void *context, int wd)
{
	const struct watcher *w = context;

	inotify_rm_watch(w->fd, wd);
}

static enum err on_gone(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	/* The watches of a directory that was deleted end by themselves; one that moved takes them along. */
	if (mask & IN_MOVED_FROM && mask & IN_ISDIR)
		watch_table_remove_below(&w->table, path, forget_watch, w);
	return tell(w, WATCH_REMOVED, path, mask & IN_ISDIR, e);
}

static enum err on_new(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	return (mask & IN_ISDIR) ? cover(w, path, true, e) : tell(w, WATCH_CREATED, path, false, e);
}

static enum err on_name(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	if (mask & (IN_CREATE | IN_MOVED_TO))
		return on_new(w, path, mask, e);
	if (mask & (IN_DELETE | IN_MOVED_FROM))
		return on_gone(w, path, mask, e);
	if (mask & (IN_MODIFY | IN_ATTRIB))
		return tell(w, (mask & IN_MODIFY) ? WATCH_CHANGED : WATCH_ATTR, path,
			mask & IN_ISDIR, e);
	return ERR_OK;
}

/* An event of the watched directory itself. All but the root's are reported by the directory above too. */
static enum err on_self(
	struct watcher *w, const struct inotify_event *event, const char *dir, struct error *e)
{
	const bool is_root = !*dir;

	if (event->mask & IN_IGNORED) {
		watch_table_remove(&w->table, event->wd);
		return is_root ? error_set(e, ERR_GONE, "the shown directory is gone") : ERR_OK;
	}
	return is_root && event->mask & IN_ATTRIB ? tell(w, WATCH_ATTR, "", true, e) : ERR_OK;
}

static enum err on_event(struct watcher *w, const struct inotify_event *event, struct error *e)
{
	const char *dir = watch_table_path(&w->table, event->wd);

	if (!dir)
		return ERR_OK; /* of a watch that was given up */
	if (!event->len)
		return on_self(w, event, dir, e);
	AUTO_FREE char *path = path_join(dir, event->name);

	return path ? on_name(w, path, event->mask, e) : error_set(e, ERR_NO_MEMORY, "%s", dir);
}

static enum err on_events(struct watcher *w, const char *bytes, size_t len, struct error *e)
{
	for (size_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(bytes + at);
		enum err k;

		/* What follows in the buffer belongs to the watches that are given up here. */
		if (event->mask & IN_Q_OVERFLOW)
			return start_over(w, e);
		k = on_event(w, event, e);
		if (k != ERR_OK)
			return k;
		at += sizeof *event + event->len;
	}
	return ERR_OK;
}

static enum err read_events(struct watcher *w, char *room, struct error *e)
{
	/* A quiet tree is no stalled call. */
	const struct call patient = { .progress_ms = -1,
		.cancel = w->call ? w->call->cancel : NULL };
	enum err k = call_wait_fd(&patient, w->fd, POLLIN, e);
	ssize_t len;

	if (k != ERR_OK)
		return k;
	len = read(w->fd, room, EVENTS_SIZE);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? ERR_OK
							 : error_errno(e, errno, "inotify");
	return on_events(w, room, (size_t)len, e);
}

static enum err watch_until_stopped(struct watcher *w, struct error *e)
{
	AUTO_FREE char *room = malloc(EVENTS_SIZE);
	enum err k = room ? start(w, e) : error_set(e, ERR_NO_MEMORY, "watch");

	if (k == ERR_OK)
		k = tell(w, WATCH_READY, "", true, e);
	while (k == ERR_OK)
		k = read_events(w, room, e);
	return k;
}

enum err helper_watch(const struct root *r, const struct call *call, watch_sink sink, void *context,
	struct error *e)
{
	struct watcher w = { .root = r, .call = call, .sink = sink, .context = context, .fd = -1 };
	struct attr attr;
	enum err k = attr_of_fd(r->dir_fd, &attr, e);

	if (k != ERR_OK)
		return k;
	w.dev = attr.dev;
	k = watch_until_stopped(&w, e);
	stop(&w);
	return k;
}
