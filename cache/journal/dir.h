/*
 * dir.h - the directory that a journal's segments lie in, its owner, and its sandbox.
 */
#pragma once

#include "cache/journal/journal.h"

struct journal_dir {
	char *path; /* NULL: there is no directory, and files have no names */
	int fd;
	/*
	 * DIR/owner, locked, which names the owner; DIR/sandbox names the sandbox of the journal.
	 */
	int owner;
};

#define JOURNAL_DIR_NONE                                                                           \
	(struct journal_dir)                                                                       \
	{                                                                                          \
		.fd = -1, .owner = -1                                                              \
	}

/* As journal_open(). On failure there is nothing to close. */
enum err journal_dir_open(
	struct journal_dir *d, const struct journal_options *options, struct error *e);
/* `remove`: the directory has no entries any more, and is removed. */
void journal_dir_close(struct journal_dir *d, bool remove);

/* Renames the directory to DIR.unreadable-TIME, with a line in the log, and opens an empty one. */
enum err journal_dir_set_aside(struct journal_dir *d, const struct journal_options *options,
	const char *why, struct error *e);

/* The ordinals of the segments, ascending. */
enum err journal_dir_list(
	const struct journal_dir *d, uint32_t **ordinals, size_t *count, struct error *e);
/*
 * Opens a segment's file for reading and writing. *path is its name for messages, allocated; NULL
 * without memory.
 */
enum err journal_dir_file(const struct journal_dir *d, uint32_t ordinal, bool make, int *fd,
	char **path, struct error *e);
void journal_dir_unlink(const struct journal_dir *d, uint32_t ordinal);
