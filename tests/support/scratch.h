/*
 * scratch.h - a temporary directory for one test, and functions that work in it without a mount.
 *
 * Every function fails the test by itself (criterion), so that a test reads as its steps. Paths are
 * relative to the scratch directory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct scratch {
	char path[64]; /* absolute */
	int fd;        /* open on the directory */
};

void scratch_make(struct scratch *s);
/* Removes the directory with all it holds, whatever the modes. */
void scratch_remove(struct scratch *s);

void scratch_write(const struct scratch *s, const char *path, const void *bytes, size_t len);
void scratch_write_text(const struct scratch *s, const char *path, const char *text);
/* The whole file with a NUL behind it, to be freed; `len` may be NULL. */
char *scratch_read(const struct scratch *s, const char *path, size_t *len);
void scratch_mkdir(const struct scratch *s, const char *path, mode_t mode);
