/*
 * error.h - an error: a kind for the program and a sentence for a person.
 *
 * An error is made in the one line where it is known and passed on unchanged. The kinds are ours,
 * neither a vendor's nor HTTP's; fs/errmap.c turns each into one errno. Their numbers travel
 * between sandboxfs and its helper program: append new kinds at the end, never renumber.
 */
#pragma once

#include <stddef.h>

/*      kind            number, the words for a person */
#define ERR_KINDS(X)                                                                               \
	X(OK, 0, "success")                                                                        \
	X(NOT_FOUND, 1, "no such file or directory")                                               \
	X(EXISTS, 2, "already exists")                                                             \
	X(DENIED, 3, "permission denied")                                                          \
	X(NOT_OWNER, 4, "operation not permitted")                                                 \
	X(NOT_DIR, 5, "not a directory")                                                           \
	X(IS_DIR, 6, "is a directory")                                                             \
	X(NOT_EMPTY, 7, "directory not empty")                                                     \
	X(INVALID, 8, "invalid argument")                                                          \
	X(NAME_TOO_LONG, 9, "name too long")                                                       \
	X(LOOP, 10, "too many levels of symbolic links")                                           \
	X(CROSS_DEVICE, 11, "crosses a file system boundary")                                      \
	X(TOO_MANY_LINKS, 12, "too many links")                                                    \
	X(TOO_LARGE, 13, "file too large")                                                         \
	X(NO_SPACE, 14, "no space left in the sandbox")                                            \
	X(QUOTA, 15, "quota exceeded")                                                             \
	X(READ_ONLY, 16, "read-only file system")                                                  \
	X(TEXT_BUSY, 17, "text file busy")                                                         \
	X(BUSY, 18, "busy")                                                                        \
	X(NO_XATTR, 19, "no such attribute")                                                       \
	X(RANGE, 20, "result does not fit")                                                        \
	X(NO_DATA, 21, "no such device or address")                                                \
	X(UNSUPPORTED, 22, "not supported")                                                        \
	X(STALE, 23, "is not the file it was")                                                     \
	X(CONFLICT, 24, "was changed in the sandbox")                                              \
	X(SKIPPED, 25, "not done, because a change before it failed")                              \
	X(IO, 26, "input/output error")                                                            \
	X(NO_MEMORY, 27, "out of memory")                                                          \
	X(TIMEOUT, 28, "timed out")                                                                \
	X(INTERRUPTED, 29, "interrupted")                                                          \
	X(UNREACHABLE, 30, "cannot be reached")                                                    \
	X(GONE, 31, "the sandbox is gone")                                                         \
	X(AUTH, 32, "not authorised")                                                              \
	X(PROTOCOL, 33, "the answer makes no sense")                                               \
	X(TOO_BIG_XATTR, 34, "attribute too big")                                                  \
	X(FILES_LIMIT, 35, "too many open files")                                                  \
	X(OVERFLOW, 36, "value too large")

enum err {
#define X(kind, number, words) ERR_##kind = number,
	ERR_KINDS(X)
#undef X
};

/*
 * A value on the caller's stack, with no memory to free. Every function that takes one allows NULL.
 */
struct error {
	enum err kind;
	char text[400];
};

/*
 * Sets kind and sentence (cut to fit, made harmless: harmless.h) and returns `kind`. `e` may be
 * NULL.
 */
__attribute__((format(printf, 3, 4))) enum err error_set(
	struct error *e, enum err kind, const char *format, ...);

/*
 * The kind for a Linux errno of a local system call; ERR_IO for an errno without a kind of its own.
 */
enum err error_from_errno(int number);

/* error_set() with the kind of `number` and its words after the sentence. */
__attribute__((format(printf, 3, 4))) enum err error_errno(
	struct error *e, int number, const char *format, ...);

/* The words for a kind; for a number that is no kind those of ERR_PROTOCOL. */
const char *error_words(enum err kind);

/* The name for a program: "NOT_FOUND"; for a number that is no kind that of ERR_PROTOCOL. */
const char *error_name(enum err kind);

/* The kind of that name; ERR_PROTOCOL where there is none. */
enum err error_named(const char *name, size_t len);

/* Whether a number that came from outside is a kind. */
int error_is_kind(unsigned number);
