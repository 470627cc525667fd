/*
 * destination.h - the destination of a copy: the nearest existing directory, and the names to make
 * in it.
 *
 * As in cp(1): sources go into an existing directory, under their own names. A single source gets
 * the name of the path where that does not exist, or is a file. Missing directories on the way are
 * made.
 */
#pragma once

#include "providers/provider.h"

struct destination {
	struct provider *at; /* the existing directory */
	/* a directory below it that takes everything; "": the existing one (base/path.h) */
	char *base;
	char *name; /* the name of the single source there; NULL: each source keeps its name */
};

#define AUTO_DESTINATION __attribute__((cleanup(destination_release)))

/*
 * Opens the directory `path`; NULL: the default directory. ERR_NOT_FOUND, ERR_NOT_DIR: the caller
 * tries another.
 */
typedef enum err (*destination_opener)(
	void *context, const char *path, struct provider **out, struct error *e);

/*
 * `path` may be NULL. `is_single`: one source is copied. A '/' at the end of `path` means a
 * directory.
 */
enum err destination_find(struct destination *d, const char *path, bool is_single,
	destination_opener open, void *context, struct error *e);
void destination_release(struct destination *d);

/*
 * The path for the source `name`; "": for everything in a directory. Allocated; NULL without
 * memory.
 */
char *destination_target(const struct destination *d, const char *name);

/*
 * A path as the source of a copy: its directory, and its name there. "" where the path ends in
 * "/.", or names no more than a directory: then everything in the directory is meant.
 */
struct whereabouts {
	char *dir; /* NULL: the default directory */
	char *name;
};

/* `path` may be NULL. */
enum err whereabouts_of(const char *path, struct whereabouts *out, struct error *e);
void whereabouts_release(struct whereabouts *w);
