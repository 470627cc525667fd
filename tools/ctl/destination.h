/*
 * destination.h - where a copy goes: the nearest directory that is there, and what is to be made in it.
 *
 * As cp(1) has it: what is copied goes into a directory that is there, under its own name; a single thing becomes what the
 * path names where nothing is there, or a file. Directories that are missing on the way are made.
 */
#pragma once

#include "providers/provider.h"

struct destination {
	struct provider *at; /* the directory that is there */
	char *base; /* below it, the directory that takes everything: "" itself (base/path.h) */
	char *name; /* what the single source becomes in it; NULL: each keeps its name */
};

#define AUTO_DESTINATION __attribute__((cleanup(destination_release)))

/* Opens the directory `path`, NULL: the one that stands for none. ERR_NOT_FOUND, ERR_NOT_DIR: another has to do. */
typedef enum err (*destination_opener)(
	void *context, const char *path, struct provider **out, struct error *e);

/* `path` may be NULL. `is_single`: one thing is copied. A '/' at the end of `path`: it is to be a directory. */
enum err destination_find(struct destination *d, const char *path, bool is_single,
	destination_opener open, void *context, struct error *e);
void destination_release(struct destination *d);

/* What becomes of `name`, "" being everything that is in a directory. Allocated; NULL without memory. */
char *destination_target(const struct destination *d, const char *name);

/*
 * What a path names as the source of a copy: the directory it is in, and its name there. "" where it ends in "/.", or names
 * no more than a directory: then everything in it is meant.
 */
struct whereabouts {
	char *dir; /* NULL: the one that stands for none */
	char *name;
};

/* `path` may be NULL. */
enum err whereabouts_of(const char *path, struct whereabouts *out, struct error *e);
void whereabouts_release(struct whereabouts *w);
