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

/* Puts a copy of it in, if it is not there. false: no memory. */
bool path_set_put(struct path_set *s, const char *path);

/* Takes it out; NULL: it is not there. To be freed. */
char *path_set_take(struct path_set *s, const char *path);

/* Takes out the first path below `path` (NULL: of all); NULL: there is none. To be freed. */
char *path_set_take_below(struct path_set *s, const char *path);
