/*
 * watch_table.h - which directory a watch descriptor of inotify stands for.
 *
 * inotify gives its numbers in rising order, so the table is a sorted array that grows at its end.
 * Removed entries leave holes; the array is compacted when half of the table are holes. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct watched {
	int wd;
	char *path; /* NULL: a hole */
};

struct watch_table {
	struct watched *all;
	size_t count, room, holes;
};

void watch_table_release(struct watch_table *t);

/*
 * Takes `path`, also on failure; a descriptor that is already known gets the new path. False: no
 * memory.
 */
bool watch_table_put(struct watch_table *t, int wd, char *path);

/* The path, valid until the next change of the table; NULL: no such watch. */
const char *watch_table_path(const struct watch_table *t, int wd);

void watch_table_remove(struct watch_table *t, int wd);

/* Removes the watch of `path` and all below it; calls `forget` for each. */
void watch_table_remove_below(struct watch_table *t, const char *path,
	void (*forget)(void *context, int wd), void *context);
