/*
 * Events of inotify become watch events. A directory that moved counts as removed from the old
 * place and created at the new one: its watches are removed and set anew, and its entries are
 * reported as created.
 */
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/watch_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

/* The pauses before lost directories are tried again; the second after watches were freed. */
#define LOST_AGAIN_MS  10000
#define FREED_AGAIN_MS 1000
/* The pause from one look for a missing root to the next. */
#define ROOT_AGAIN_MS 100
/* At least one event with the longest name. */
#define EVENTS_SIZE ((size_t)64 * 1024)

/* Covers the root that is there now. */
static enum err cover_root(struct watcher *w, struct error *e)
{
	struct attr attr;

	root_let(&w->now);
	root_find(w->given, &w->now);
	w->self = (struct expect){ 0 };
	if (w->now.dir_fd < 0)
		return ERR_OK;
	enum err k = attr_of_fd(w->now.dir_fd, &attr, e);

	w->dev = attr.dev;
	w->self = expect_of(&attr);
	return k == ERR_OK ? watch_cover(w, "", false, e) : k;
}

static enum err start(struct watcher *w, struct error *e)
{
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return error_errno(e, errno, "inotify");
	enum err k = watcher_file_watch(&w->file, w->fd, e);

	if (k != ERR_OK)
		return k;
	k = cover_root(w, e);
	/* The system may allow few watches: the tree has precedence. */
	watch_above(w);
	if (!watch_is_current(w))
		w->self = (struct expect){ 0 }; /* the next look is soon */
	return k;
}

static void stop(struct watcher *w)
{
	cleanup_close(&w->fd);
	w->fd = -1;
	watch_table_release(&w->table);
	path_set_release(&w->lost);
	free(take(w->moved_from));
}

/*
 * Events were lost, perhaps of new directories, or the root is another directory. The loss is
 * reported twice: at once, so that nothing known stays valid, and again when the watches stand,
 * because names read meanwhile may already be out of date.
 */
static enum err start_over(struct watcher *w, struct error *e)
{
	enum err k = watch_tell_lost(w, "", e);

	if (k == ERR_OK)
		k = watch_drop_lost(w, NULL, e);
	stop(w);
	if (k == ERR_OK)
		k = start(w, e);
	return k == ERR_OK ? watch_tell_lost(w, "", e) : k;
}

static void forget_watch(void *context, int wd)
{
	struct watcher *w = context;

	inotify_rm_watch(w->fd, wd);
	w->has_given_back = true;
}

static enum err on_gone(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	/*
	 * The watches of a deleted directory end by themselves; a moved directory takes its watches
	 * along.
	 */
	if (mask & IN_MOVED_FROM && mask & IN_ISDIR)
		watch_table_remove_below(&w->table, path, forget_watch, w);
	enum err k = mask & IN_ISDIR ? watch_drop_lost(w, path, e) : ERR_OK;

	return k == ERR_OK ? watch_tell_state(w, WATCH_REMOVED, path, mask & IN_ISDIR, e) : k;
}

static enum err on_new(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	return (mask & IN_ISDIR) ? watch_cover(w, path, true, e)
				 : watch_tell_state(w, WATCH_CREATED, path, false, e);
}

/*
 * The kernel reports both names one after the other; without memory only the new name is reported.
 */
static void note_moved(struct watcher *w, const char *path, const struct inotify_event *event)
{
	if (event->mask & IN_MOVED_FROM) {
		free(w->moved_from);
		w->moved_from = strdup(path);
		w->moved_cookie = event->cookie;
	}
	w->moved_to = event->mask & IN_MOVED_TO && w->moved_from && event->cookie == w->moved_cookie
		? path
		: NULL;
}

static enum err on_name(struct watcher *w, const char *path, uint32_t mask, struct error *e)
{
	if (mask & (IN_CREATE | IN_MOVED_TO))
		return on_new(w, path, mask, e);
	if (mask & (IN_DELETE | IN_MOVED_FROM))
		return on_gone(w, path, mask, e);
	if (mask & (IN_MODIFY | IN_ATTRIB))
		return watch_tell_state(w, (mask & IN_MODIFY) ? WATCH_CHANGED : WATCH_ATTR, path,
			mask & IN_ISDIR, e);
	return ERR_OK;
}

/*
 * An event of the watched directory itself. Except for the root, the directory above reports the
 * same.
 */
static enum err on_self(
	struct watcher *w, const struct inotify_event *event, const char *dir, struct error *e)
{
	const bool is_root = !*dir;

	if (event->mask & IN_IGNORED) {
		watch_table_remove(&w->table, event->wd);
		w->has_given_back = true;
		return ERR_OK;
	}
	return is_root && event->mask & IN_ATTRIB ? watch_tell_state(w, WATCH_ATTR, "", true, e)
						  : ERR_OK;
}

/* Whether the event is of a directory on the way to the root, or of the root's name there. */
static bool is_of_way(const struct watcher *w, const struct inotify_event *event)
{
	const char *slash = strrchr(w->given->path, '/');
	const char *name = slash ? slash + 1 : w->given->path;

	if (event->mask & IN_MOVE_SELF)
		return true;
	return event->len && event->wd == w->parent_wd && !strcmp(event->name, name);
}

static enum err on_event(struct watcher *w, const struct inotify_event *event, struct error *e)
{
	const char *dir = watch_table_path(&w->table, event->wd);

	if (event->wd == w->file.wd)
		return watcher_file_check(&w->file, e);
	if (!dir)
		return ERR_OK; /* the watch was given up */
	if (!event->len)
		return on_self(w, event, dir, e);
	AUTO_FREE char *path = path_join(dir, event->name);

	if (!path)
		return error_set(e, ERR_NO_MEMORY, "%s", dir);
	note_moved(w, path, event);
	enum err k = on_name(w, path, event->mask, e);

	w->moved_to = NULL;
	return k;
}

static enum err on_events(struct watcher *w, const char *bytes, size_t len, struct error *e)
{
	for (size_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(bytes + at);
		enum err k;

		/* The rest of the buffer belongs to watches that end here. */
		if (event->mask & IN_Q_OVERFLOW)
			return start_over(w, e);
		/* An inode number may be reused. */
		if (is_of_way(w, event) && (event->mask & IN_DELETE || !watch_is_current(w)))
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
	ssize_t len = read(w->fd, room, EVENTS_SIZE);

	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? ERR_OK
							 : error_errno(e, errno, "inotify");
	watch_forget_last(w);
	return on_events(w, room, (size_t)len, e);
}

/* The time until lost directories, or the root, are tried again; negative: nothing is lost. */
static int64_t again_in_ms(const struct watcher *w)
{
	int64_t again_ms = w->tried_ms + (w->has_given_back ? FREED_AGAIN_MS : LOST_AGAIN_MS);
	int64_t in_ms = again_ms - monotonic_ms();

	if (!w->self.ino)
		return ROOT_AGAIN_MS;
	if (!w->lost.count)
		return -1;
	return in_ms > 0 ? in_ms : 0;
}

/* A quiet tree is no stalled call. */
static enum err wait_and_read(struct watcher *w, int64_t wait_ms, char *room, struct error *e)
{
	const struct call patient = { .progress_ms = wait_ms,
		.cancel = w->call ? w->call->cancel : NULL };
	struct error why = { 0 };
	enum err k = call_wait_fd(&patient, w->fd, POLLIN, &why);

	if (k == ERR_TIMEOUT)
		return w->self.ino || watch_is_current(w) ? ERR_OK : start_over(w, e);
	return k == ERR_OK ? read_events(w, room, e) : error_set(e, k, "%s", why.text);
}

static enum err watch_on(struct watcher *w, char *room, struct error *e)
{
	int64_t in_ms = again_in_ms(w);

	if (in_ms)
		return wait_and_read(w, in_ms, room, e);
	return watch_cover_lost(w, e);
}

/* ---- The list that comes first ---- */

static enum err tell_item(void *context, const struct list_item *item, struct error *e)
{
	const struct watcher *w = context;
	const struct watch_event event = { .kind = WATCH_ITEM, .path = "", .item = item };
	enum err k = watch_check_cancelled(w, e);

	return k == ERR_OK ? w->sink(w->context, &event, e) : k;
}

static enum err tell_ready(
	const struct watcher *w, const struct list_request *first, struct error *e)
{
	const struct watch_event event = {
		.kind = WATCH_READY, .is_dir = true, .path = "", .lists = first
	};
	enum err k = w->sink(w->context, &event, e);

	return k == ERR_OK && first ? helper_list(w->root, first, tell_item, (void *)w, e) : k;
}

static enum err watch_until_stopped(
	struct watcher *w, const struct list_request *first, struct error *e)
{
	AUTO_FREE char *room = malloc(EVENTS_SIZE);
	enum err k = room ? start(w, e) : error_set(e, ERR_NO_MEMORY, "watch");

	if (k == ERR_OK)
		k = tell_ready(w, first, e);
	while (k == ERR_OK)
		k = watch_on(w, room, e);
	return k;
}

enum err helper_watch(const struct root *r, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	struct watcher w = { .given = r,
		.call = call,
		.sink = sink,
		.context = context,
		.fd = -1,
		.now.dir_fd = -1,
		.last_path = BUF_INIT(PATH_LENGTH_MAX + 1) };
	enum err k;

	w.root = &w.now;
	root_find(r, &w.now);
	w.file = watcher_file_take(r, call, request->watcher);
	k = watch_until_stopped(&w, request->first, e);
	stop(&w);
	root_let(&w.now);
	watcher_file_release(&w.file);
	buf_release(&w.last_path);
	return k;
}
