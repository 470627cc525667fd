/*
 * dir.h - the directory that a journal's segments lie in, and whose it is.
 */
#pragma once

#include "cache/journal/journal.h"

struct journal_dir {
	char *path; /* NULL: there is none, and files have no names */
	int fd;
	int owner; /* DIR/owner, locked; says who has it; DIR/sandbox says which sandbox it is of */
};

#define JOURNAL_DIR_NONE                                                                           \
	(struct journal_dir)                                                                       \
	{                                                                                          \
		.fd = -1, .owner = -1                                                              \
	}

/* As journal_open(). On failure there is nothing to close. */
enum err journal_dir_open(
	struct journal_dir *d, const struct journal_options *options, struct error *e);
/* `remove`: nothing is in it any more, and it goes. */
void journal_dir_close(struct journal_dir *d, bool remove);

/* Renames it to DIR.unreadable-TIME, with a word in the log, and opens an empty one. */
enum err journal_dir_set_aside(struct journal_dir *d, const struct journal_options *options,
	const char *why, struct error *e);

/* The segments' ordinals, ascending. */
enum err journal_dir_list(
	const struct journal_dir *d, uint32_t **ordinals, size_t *count, struct error *e);
/* A segment's file, open for reading and writing; its name for messages, allocated, NULL without memory. */
enum err journal_dir_file(const struct journal_dir *d, uint32_t ordinal, bool make, int *fd,
	char **path, struct error *e);
void journal_dir_unlink(const struct journal_dir *d, uint32_t ordinal);
