/*
 * watch_inside.h - what the files of helper_watch() share; internal to watch*.c.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/path_set.h"
#include "providers/helper/helper.h"
#include "providers/helper/watch_table.h"
#include "providers/helper/watcher_file.h"

struct watcher {
	const struct root *given; /* where the root is found */
	struct root now;          /* the root when its watch was set */
	const struct root *root;  /* points to `now` */
	struct expect self;       /* the watched directory; unset: there is none */
	int parent_wd;            /* watch of the directory that has the root; -1: none */
	const struct call *call;
	watch_sink sink;
	void *context;
	uint64_t dev; /* the root's: other file systems are not watched */
	int fd;       /* inotify's */
	struct watcher_file file;
	struct watch_table table;
	struct path_set lost;    /* directories to try again: a watch could not be set */
	bool has_given_back;     /* a watch was freed since the last try */
	int64_t tried_ms;        /* the last try, monotonic */
	struct watch_event last; /* the last event of this read, where `has_last` */
	struct buf last_path;    /* the path of `last` */
	bool has_last;
	uint32_t moved_cookie; /* inotify's, of the last name that a rename removed */
	char *moved_from;      /* the path of that name */
	const char *moved_to;  /* the new path, while it is reported; else NULL */
};

/* ---- Reporting (watch_tell.c) ---- */

/* Reports an event with these values; `attr` may be NULL. */
enum err watch_tell(struct watcher *w, enum watch_kind kind, const char *path, bool is_dir,
	const struct attr *attr, struct error *e);
enum err watch_tell_lost(struct watcher *w, const char *path, struct error *e);
enum err watch_tell_found(struct watcher *w, const char *path, struct error *e);
/*
 * Reports the present state of `path`: `kind` with the attributes, or WATCH_REMOVED. An entry that
 * is there although `kind` is WATCH_REMOVED was created anew. `was_dir` is the type of an entry
 * that is gone.
 */
enum err watch_tell_state(
	struct watcher *w, enum watch_kind kind, const char *path, bool was_dir, struct error *e);
/* Later events happened after all that was reported so far: a repeated event is reported again. */
void watch_forget_last(struct watcher *w);

/* Watches the directories above the root: the root may be moved or replaced with them. */
void watch_above(struct watcher *w);
/* Whether the root's path leads to the watched directory. */
bool watch_is_current(const struct watcher *w);

/* ERR_INTERRUPTED: the call was cancelled. */
enum err watch_check_cancelled(const struct watcher *w, struct error *e);

/* ---- Covering (watch_cover.c) ---- */

/* Watches every directory from `path` on. `tells`: entries found are new and reported. */
enum err watch_cover(struct watcher *w, const char *path, bool tells, struct error *e);
/* Tries the lost directories again, until the system refuses a watch. */
enum err watch_cover_lost(struct watcher *w, struct error *e);
/* Drops lost directories at and below `path`, which is gone; NULL: all of them. */
enum err watch_drop_lost(struct watcher *w, const char *path, struct error *e);
