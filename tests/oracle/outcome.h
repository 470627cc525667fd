/*
 * outcome.h - the effects of one call, in a form in which two sides can be compared and a person
 * can read the difference.
 *
 * Besides the return value and errno everything is text, one fact to a line: equal outcomes are
 * equal bytes. Facts that may rightly differ between two directories (inode numbers, the time of
 * day) are left out or named instead of shown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct text {
	char *bytes; /* ended by NUL; NULL while empty */
	size_t len, size;
};

void text_release(struct text *t);
void text_clear(struct text *t);
__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *format, ...);
/* Bytes as a person can read them in one line: unprintable ones as \xNN. */
void text_add_escaped(struct text *t, const void *bytes, size_t len);
/* The number of bytes, their hash, and the first of them. */
void text_add_data(struct text *t, const void *bytes, size_t len);

struct outcome {
	long ret;
	int err; /* 0 where ret says success */
	struct text facts;
};

/* Takes a system call's result: ret as it is, errno if it failed. */
long outcome_take(struct outcome *o, long ret);
/* outcome_take() for a call that returns a descriptor: 0 stands for any number. */
void outcome_take_fd(struct outcome *o, int fd);
bool outcome_equal(const struct outcome *a, const struct outcome *b);

/* The parts of a stat that are compared. */
struct stat_rules {
	bool atime; /* the last access */
	bool nanos; /* parts of a second */
	bool rdev;  /* device numbers */
	bool nlink; /* how many names a file has */
};

/*
 * mode, links, owner, size and times. A time of today is "now"; every other one was set and is
 * shown exactly.
 */
void text_add_stat(struct text *t, const struct stat *st, const struct stat_rules *rules);

uint64_t hash_bytes(const void *bytes, size_t len);
