/*
 * outside.h - the shown directory as other programs in the sandbox see it, apart from the verbs
 * under test.
 *
 * Where the sandbox keeps its files on this machine, this is the directory itself. Of a sandbox
 * elsewhere it is what GNU's tools do and print there, started by execute: a test of execute looks
 * at its output, and no verb is tested by itself. Paths are relative to the shown root. Each
 * function fails the test by itself, unless it returns whether.
 */
#pragma once

#include "providers/verbs.h"

struct subject;

/* ---- Making and changing ---- */

void outside_write(const struct subject *s, const char *path, const void *bytes, size_t len);
void outside_write_text(const struct subject *s, const char *path, const char *text);
/* Makes empty files with the names `prefix`0, `prefix`1 and so on. */
void outside_fill(const struct subject *s, const char *prefix, unsigned count);
/* Writes a file with a hole of `at` bytes, and data behind it. */
void outside_write_sparse(const struct subject *s, const char *path, uint64_t at);
void outside_mkdir(const struct subject *s, const char *path, uint32_t mode);
void outside_mkfifo(const struct subject *s, const char *path, uint32_t mode);
void outside_symlink(const struct subject *s, const char *text, const char *path);
void outside_link(const struct subject *s, const char *from, const char *to);
void outside_rename(const struct subject *s, const char *from, const char *to);
void outside_unlink(const struct subject *s, const char *path);
void outside_chmod(const struct subject *s, const char *path, uint32_t mode);
void outside_set_times(const struct subject *s, const char *path, const struct timespec times[2]);
void outside_set_xattr(
	const struct subject *s, const char *path, const char *name, const char *text);
/* Mounts a file system of its own; false where that is not allowed. */
bool outside_mount(const struct subject *s, const char *path);
void outside_unmount(const struct subject *s, const char *path);

/* ---- Looking ---- */

bool outside_exists(const struct subject *s, const char *path);
bool outside_holds(const struct subject *s, const char *path, const char *text);
/* The whole file with a NUL behind it, to be freed; `len` may be NULL. */
char *outside_read(const struct subject *s, const char *path, size_t *len);
/* A link's text, to be freed. */
char *outside_read_link(const struct subject *s, const char *path);
/* A value with a NUL behind it, to be freed. */
char *outside_get_xattr(const struct subject *s, const char *path, const char *name, size_t *len);
/* Where the first data and the first hole begin, in a file of outside_write_sparse(). */
void outside_seek(const struct subject *s, const char *path, uint64_t *data, uint64_t *hole);
/* Whether the holder of flock(1)'s lock on `path` is gone, soon. */
bool outside_is_unlocked_soon(const struct subject *s, const char *path);
struct attr outside_attr(const struct subject *s, const char *path);
struct expect outside_expect(const struct subject *s, const char *path);
