/*
 * An event of inotify says what happened to a name some time ago; the name may mean another inode
 * by now. So the present state of the name is reported: a client never receives a state that is
 * known to be old.
 */
#include "providers/helper/watch_inside.h"

#include <string.h>
#include <sys/stat.h>

/* Every change of an inode, except of its access time, changes its ctime. */
static bool is_same_version(const struct attr *a, const struct attr *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->btime_ns == b->btime_ns &&
		a->size == b->size && time_equals(a->ctime, b->ctime);
}

/* Only states are compared: a loss is reported twice for a reason. */
static bool is_repeated(const struct watcher *w, const struct watch_event *event)
{
	if (event->kind == WATCH_LOST)
		return false;
	if (!w->has_last || w->last.kind != event->kind || w->last.has_attr != event->has_attr)
		return false;
	return strcmp(w->last.path, event->path) == 0 &&
		(!event->has_attr || is_same_version(&w->last.attr, &event->attr));
}

static enum err note_last(struct watcher *w, const struct watch_event *event, struct error *e)
{
	buf_reset(&w->last_path);
	buf_add_string(&w->last_path, event->path);
	w->last = *event;
	w->last.path = buf_text(&w->last_path);
	w->last.from = NULL;
	w->has_last = true;
	return buf_check(&w->last_path, "watch", e);
}

void watch_forget_last(struct watcher *w)
{
	w->has_last = false;
}

enum err watch_tell(struct watcher *w, enum watch_kind kind, const char *path, bool is_dir,
	const struct attr *attr, struct error *e)
{
	struct watch_event event = { .kind = kind, .path = path, .is_dir = is_dir };
	enum err k;

	if (attr) {
		event.has_attr = true;
		event.attr = *attr;
	}
	if (kind == WATCH_CREATED && w->moved_to && !strcmp(w->moved_to, path))
		event.from = w->moved_from;
	if (is_repeated(w, &event))
		return ERR_OK;
	k = note_last(w, &event, e);
	return k == ERR_OK ? w->sink(w->context, &event, e) : k;
}

enum err watch_tell_lost(struct watcher *w, const char *path, struct error *e)
{
	return watch_tell(w, WATCH_LOST, path, true, NULL, e);
}

enum err watch_tell_found(struct watcher *w, const char *path, struct error *e)
{
	return watch_tell(w, WATCH_FOUND, path, true, NULL, e);
}

static enum err stat_path(const struct watcher *w, const char *path, struct attr *out)
{
	AUTO_PLACE struct place at = PLACE_NONE;
	enum err k = root_place(w->root, path, NULL, &at, NULL);

	return k == ERR_OK ? place_stat(&at, out, path, NULL) : k;
}

static bool is_gone(enum err k)
{
	return k == ERR_NOT_FOUND || k == ERR_NOT_DIR || k == ERR_STALE;
}

enum err watch_tell_state(
	struct watcher *w, enum watch_kind kind, const char *path, bool was_dir, struct error *e)
{
	struct attr attr;
	enum err k = stat_path(w, path, &attr);

	if (is_gone(k))
		return watch_tell(w, WATCH_REMOVED, path, was_dir, NULL, e);
	/* There was an event, but nothing more is known: a directory on the way lost its `x`. */
	if (k != ERR_OK)
		return watch_tell(w, kind, path, was_dir, NULL, e);
	if (root_hides(w->root, &attr))
		return ERR_OK;
	return watch_tell(w, kind == WATCH_REMOVED ? WATCH_CREATED : kind, path, S_ISDIR(attr.mode),
		&attr, e);
}

enum err watch_check_cancelled(const struct watcher *w, struct error *e)
{
	if (w->call && w->call->cancel && cancel_thrown(w->call->cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	return ERR_OK;
}
