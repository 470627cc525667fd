/*
 * twin.h - the same step done twice: by system calls in a directory of this machine, and through a
 * cache as the kernel would do it.
 *
 * The caller keeps to what the kernel checks before it sends a request: that a directory does not
 * move into itself, and which file may replace which. Paths are relative, without "." and "..".
 */
#pragma once

#include "cache/contents.h"
#include "cache/names.h"

#define TWIN_HANDLES  4
#define TWIN_PATH_MAX 512

enum step_kind {
	STEP_CREATE, /* O_EXCL, stays open as `handle` */
	STEP_MKDIR,
	STEP_SYMLINK, /* the text is path2 */
	STEP_LINK,    /* path -> path2, as in STEP_RENAME */
	STEP_RENAME,  /* flags: CHANGE_NOREPLACE or CHANGE_EXCHANGE */
	STEP_UNLINK,
	STEP_RMDIR,
	STEP_CHMOD, /* number: the mode */
	STEP_TIMES, /* number: seconds, of both times */
	STEP_CUT,   /* number: the size */
	STEP_OPEN,  /* stays open as `handle` */
	STEP_CLOSE, /* `handle`, as in the next three */
	STEP_EMPTY,
	STEP_WRITE, /* len bytes of `byte` at number */
	STEP_APPEND,
	STEP_COPY,      /* path -> path2, a new file, within the sandbox */
	STEP_COPY_OVER, /* STEP_COPY where path2 exists and is emptied before */
	STEP_END,
};

struct step {
	enum step_kind kind;
	char path[TWIN_PATH_MAX], path2[TWIN_PATH_MAX];
	uint32_t flags;
	uint64_t number;
	size_t len;
	char byte;
	unsigned handle;
};

/* The step in words, for the message of a failed test; overwritten by the next call. */
const char *step_text(const struct step *s);

/* ---- The directory ---- */

struct plain {
	int dir;
	int handles[TWIN_HANDLES]; /* -1: closed */
};

void plain_init(struct plain *p, int dir);
void plain_release(struct plain *p);
enum err plain_do(struct plain *p, const struct step *s);
/* The mode of the file; 0: there is no file. */
uint32_t plain_mode(const struct plain *p, const char *path);
/* The whole file, or a link's text; to be freed. */
char *plain_text(int dir, const char *path, size_t *len);

/* ---- The cache ---- */

struct mounted {
	struct cache *cache;
	const struct call *call; /* the call of every step; NULL: without a limit of its own */
	struct inode *handles[TWIN_HANDLES + 1]; /* NULL: closed; the last is a copy's */
	uint64_t numbers[TWIN_HANDLES + 1];      /* the inode numbers that the handles showed */
};

void mounted_release(struct mounted *m);
enum err mounted_do(struct mounted *m, const struct step *s);
/* The inode that a path leads to; the caller gives it back with mounted_forget(). */
enum err mounted_find(struct mounted *m, const char *path, struct inode **out);
void mounted_forget(struct mounted *m, struct inode *i);
enum err mounted_attr(struct mounted *m, struct inode *i, struct attr *out);
/* The whole file, to be freed; fails the test where reading does. */
char *mounted_text(struct mounted *m, struct inode *i, size_t *len);
