/*
 * root.h - the directory that is shown, and the way to a file in it that cannot lead out.
 *
 * Paths come from a mount whose kernel has already resolved every link, so a path that meets a
 * symbolic link on its way is out of date (ERR_STALE), never followed. Directories are opened with
 * openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS) or, where a kernel lacks openat2, one component at
 * a time with O_NOFOLLOW. Everything else happens relative to such a directory. A root may be used
 * by any number of threads; nothing in it changes after root_open().
 *
 * The shown directory is a path: the directory may be removed and made again, or replaced by
 * another. Each verb begins with root_find() and works on the directory that is there then.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/verbs.h"

struct root {
	int dir_fd; /* the shown root; -1: there is none, for the errno `missing` */
	int missing;
	/* where `path` begins, and above which no path leads; AT_FDCWD: `path` is absolute */
	int base_fd;
	char *path;     /* owned by the root that was opened */
	int staging_fd; /* -1: none, and paths that start with '/' are ERR_UNSUPPORTED */
	bool walk;      /* openat2 is missing here */
	bool is_superuser;
	struct expect staging; /* the inode of staging, which may lie inside the shown root */
	struct identity identity;
};

/* `staging` is created (mode 0700) when absent, and may be NULL. */
enum err root_open(struct root *r, const char *dir, const char *staging, struct error *e);
/* root_open() where `dir` may be missing: each verb then reports that. */
enum err root_open_any(struct root *r, const char *dir, const char *staging, struct error *e);
/*
 * root_open_any() of a directory below `base_fd`, to which no symbolic link leads. `base_fd`
 * outlives the root.
 */
enum err root_open_below(
	struct root *r, int base_fd, const char *dir, const char *staging, struct error *e);
void root_close(struct root *r);

/* The root as it is now, to be released with root_let() before `r` is closed. */
void root_find(const struct root *r, struct root *now);
void root_let(struct root *now);
#define AUTO_ROOT __attribute__((cleanup(root_let)))
/* ERR_OK: there is a root. */
enum err root_check(const struct root *r, struct error *e);

/* A directory held open and the name of an entry in it: each change works on one. */
struct place {
	int fd;           /* owned; the root owns that of staging */
	const char *name; /* points into the path; "." for the root itself */
	bool is_staged;
	char *moved; /* owned: the path where helper/follow.h found the inode; `name` is its end */
};

#define PLACE_NONE                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}
#define AUTO_PLACE __attribute__((cleanup(place_release)))

void place_release(struct place *p);

/* Opens the directory that holds `path` and checks that it is `parent`. */
enum err root_place(const struct root *r, const char *path, const struct expect *parent,
	struct place *out, struct error *e);

/*
 * lstat(2) of the entry, every field; but on a file system of layers without the time of birth,
 * which a copy changes.
 */
enum err place_stat(const struct place *p, struct attr *out, const char *path, struct error *e);

/* fstat(2) of an open file, with the same exception. */
enum err attr_of_fd(int fd, struct attr *out, struct error *e);

/* Whether any inode is meant; true for NULL. */
bool expect_is_any(const struct expect *x);

/* Whether `a` is the inode that is meant. */
bool expect_met(const struct expect *x, const struct attr *a);

/* An expectation of the inode `a`. */
struct expect expect_of(const struct attr *a);

/*
 * Holds the entry, of whatever type, with O_PATH (helper/pin.h), after checking that it is
 * `target`. A symbolic link itself is held.
 */
enum err place_pin(const struct place *p, const struct expect *target, int *out_fd,
	struct attr *out, const char *path, struct error *e);

/*
 * Opens the entry with `flags` (O_NOFOLLOW and O_CLOEXEC are added), after checking that it is
 * `target`. A fifo or device is ERR_INVALID and never opened; in staging only for as long as the
 * check of its type takes. A symbolic link is ERR_STALE: the entry was a file when the path was
 * resolved. `by_handle`: mode bits of one's own file are lifted for the moment of the open.
 */
enum err place_open(const struct place *p, int flags, const struct expect *target, bool by_handle,
	int *out_fd, const char *path, struct error *e);

/*
 * root_place() and place_open() in one, for a directory to be read. ERR_NOT_DIR: the path is no
 * directory.
 */
enum err root_open_dir(const struct root *r, const char *path, const struct expect *target,
	int *out_fd, struct error *e);

/* Whether `a` is the staging directory, which no verb shows. */
bool root_hides(const struct root *r, const struct attr *a);

/* statvfs(3) of the root. */
enum err root_space(const struct root *r, struct space *out, struct error *e);
/* All facts about the root at once. */
enum err root_learn(const struct root *r, struct root_facts *out, struct error *e);
