/*
 * path_set.h - a set of paths (base/path.h), in order. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct path_set {
	char **all; /* sorted by their bytes */
	size_t count, room;
};

void path_set_release(struct path_set *s);

bool path_set_has(const struct path_set *s, const char *path);

/* Adds a copy of `path`, if the set does not have it. false: no memory. */
bool path_set_put(struct path_set *s, const char *path);

/* Removes `path` and returns it, to be freed; NULL: the set does not have it. */
char *path_set_take(struct path_set *s, const char *path);

/*
 * Removes the first path below `path` (NULL: of all) and returns it, to be freed; NULL: there is
 * none.
 */
char *path_set_take_below(struct path_set *s, const char *path);
