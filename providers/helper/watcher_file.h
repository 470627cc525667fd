/*
 * watcher_file.h - the file "watch-<watcher in hex>" of staging, by which a watch ends another of
 * the same watcher.
 *
 * A watch holds a lock (flock(2)) on the file. The next watch removes the file, which inotify
 * reports to the earlier watch, and waits until the lock is free: then the inotify watches of the
 * earlier one are free as well. A watch that was killed leaves a file that is not locked. Where no
 * file can be made, because staging is full or read-only, several watches go on at once.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

struct watcher_file {
	const struct root *root;
	char name[sizeof "watch-" + 2 * WATCHER_ID_SIZE];
	int fd; /* -1: there is none */
	int wd; /* inotify's; -1: none */
};

/* Waits at most a second for the earlier watch. A watcher of all zeros has no file. */
struct watcher_file watcher_file_take(const struct root *r, const struct call *call,
	const unsigned char watcher[WATCHER_ID_SIZE]);
/*
 * Adds a watch on the file to `inotify`: its removal is an event of `wd`. ERR_CONFLICT: the file is
 * already removed.
 */
enum err watcher_file_watch(struct watcher_file *f, int inotify, struct error *e);
/* ERR_CONFLICT: another watch has taken over. */
enum err watcher_file_check(const struct watcher_file *f, struct error *e);
/* Removes the file. Called when nothing is watched any more. */
void watcher_file_release(struct watcher_file *f);
