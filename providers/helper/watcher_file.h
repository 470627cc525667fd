/*
 * watcher_file.h - the file "watch-<watcher in hex>" of staging, by which one watch ends another of the same watcher.
 *
 * Whoever watches holds a lock on it (flock(2)). The next one removes it, which inotify tells the one before, and waits until
 * its lock is free: then what it took of the system's inotify watches is free as well. What was killed has left a file that
 * nobody holds. Where no file can be made, for staging is full or read-only, watches go on beside each other.
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

/* Waits a second at most for the watch before. A watcher of all zeros has no file. */
struct watcher_file watcher_file_take(const struct root *r, const struct call *call,
	const unsigned char watcher[WATCHER_ID_SIZE]);
/* Lets `inotify` tell when it is removed, by an event of `wd`. ERR_CONFLICT: it is by now. */
enum err watcher_file_watch(struct watcher_file *f, int inotify, struct error *e);
/* ERR_CONFLICT: another watch has taken over. */
enum err watcher_file_check(const struct watcher_file *f, struct error *e);
/* Removes it. Nothing is watched any more then. */
void watcher_file_release(struct watcher_file *f);
