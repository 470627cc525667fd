/*
 * posix.h - shared by the groups of POSIX cases.
 *
 *	posix DIRECTORY
 *
 * Each case is a function that works in a fresh folder of that directory, its working directory,
 * and states what must hold with the macros below; main prints one TAP line for it. The cases say
 * what Linux does on a local file system (ext4); as root, some of them act as other users.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct posix_case {
	const char *name;
	void (*run)(void);
	bool needs_root;
};

/* Tables end with a NULL name. */
extern const struct posix_case cases_create[], cases_remove[], cases_rename[], cases_attributes[],
	cases_owners[], cases_times[], cases_links[], cases_contents[], cases_limits[];

/* ---- Claims. A failed one is reported with its line; the case goes on. ---- */

__attribute__((format(printf, 4, 5))) void posix_check(
	bool holds, const char *file, int line, const char *format, ...);

/* The call succeeds. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		long ret_ = (long)(call);                                                          \
		int err_ = errno;                                                                  \
		posix_check(ret_ >= 0, __FILE__, __LINE__, "%s: %s", #call,                        \
			ret_ < 0 ? strerrorname_np(err_) : "");                                    \
	} while (0)

/* The call fails with this errno. */
#define FAILS(number, call)                                                                        \
	do {                                                                                       \
		errno = 0;                                                                         \
		long ret_ = (long)(call);                                                          \
		int err_ = errno;                                                                  \
		posix_check(ret_ < 0 && err_ == (number), __FILE__, __LINE__,                      \
			"%s: wanted %s, got %s", #call, #number,                                   \
			ret_ < 0 ? strerrorname_np(err_) : "success");                             \
	} while (0)

#define SAME(got, wanted)                                                                          \
	do {                                                                                       \
		intmax_t got_ = (intmax_t)(got), wanted_ = (intmax_t)(wanted);                     \
		posix_check(got_ == wanted_, __FILE__, __LINE__, "%s is %jd, not %jd", #got, got_, \
			wanted_);                                                                  \
	} while (0)

#define TRUE(claim) posix_check(claim, __FILE__, __LINE__, "%s", #claim)

/* ---- Things to work with ---- */

#define USER_A       20001 /* in group 20001 */
#define USER_B       20002 /* in group 20002 and also in GROUP_SHARED */
#define GROUP_SHARED 20003

/* `AS(USER_A) { ... }`: the block's calls are that user's. */
int posix_become(uid_t uid);
void posix_back(const int *ignored);
#define AS(uid) for (int as_ __attribute__((cleanup(posix_back))) = posix_become(uid); as_; as_ = 0)

/* An empty regular file; a file with these contents. */
void make_file(const char *path, mode_t mode);
void make_text(const char *path, const char *text);
struct stat stat_of(const char *path); /* lstat */
mode_t mode_of(const char *path);      /* the twelve bits */
nlink_t nlink_of(const char *path);
off_t size_of(const char *path);
/* Whether the file holds exactly this. */
bool holds(const char *path, const char *text);
bool exists(const char *path);

/* Sets both times of a path long ago, so that a time that a call moves shows. */
void make_old(const char *path);
enum moved { MOVED_NONE = 0, MOVED_MTIME = 1, MOVED_CTIME = 2, MOVED_BOTH = 3 };
/*
 * The times that moved since `before`, which was taken after make_old(). Waits for the clock to
 * tick, so that even coarse times differ.
 */
enum moved moved_since(const char *path, const struct stat *before);
/* make_old() and stat_of() at once; afterwards the clock has ticked. */
struct stat aged(const char *path);

/* `n` times a letter; the caller's static buffer is reused at the next call with the same `n`. */
const char *long_name(size_t n);
