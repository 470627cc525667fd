/*
 * side.h - one of the two directories a trace is replayed on, and the users it is replayed as.
 *
 * The trace works in a folder a few levels below the directory it was given, so that the ".." of
 * its links and paths stay inside. One thread makes all calls.
 */
#pragma once

#include "tests/oracle/outcome.h"

#define SLOTS 8

struct side {
	const char *name; /* "A" or "B": for messages */
	const char *path;
	int top;         /* the directory that was given */
	int root;        /* where the trace works */
	int slot[SLOTS]; /* descriptors the trace has open; -1 none */
};

/* The users that make calls: 0 is root, the others are ordinary users. */
#define USERS 3

/*
 * false: the directory cannot be used; reported on stderr. The directory must be empty but for
 * lost+found.
 */
bool side_open(struct side *s, const char *name, const char *path);
/* Makes the folder the trace works in, anew. */
bool side_begin(struct side *s);
/* The folder that a trace works in below another way to the same directory; -1: errno. */
int side_open_work(int top);
/*
 * fsync of each descriptor of the trace; fsync of the file or directory at a path, where there is
 * one.
 */
void side_sync(const struct side *s);
void side_sync_path(int dir, const char *path);
/* Closes every descriptor of the trace. */
void side_close_slots(struct side *s);
/* Closes the descriptors that the trace left open and removes everything. */
void side_clear(struct side *s);
void side_close(struct side *s);

/* From here on this thread's calls are that user's. */
void become(int user);

/*
 * Removes a tree, names in order; names that cannot be removed stay. Returns the number of removed
 * names.
 */
long remove_tree(int dir, const char *name);

/*
 * The names in a directory, sorted, without "." and "..". Ended by NULL; names_free() frees it.
 * NULL: errno.
 */
char **names_read(int dir);
void names_free(char **names);
