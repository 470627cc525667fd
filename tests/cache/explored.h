/*
 * explored.h - a tree in a scratch directory, and a cache that is asked for it as programs do, by
 * path.
 *
 * There is one at a time, since each test is a process. Whatever fails here fails the test.
 */
#pragma once

#include "cache/contents.h"
#include "tests/support/counting_provider.h"

#define A_MINUTE 60000
#define BRIEF_MS 30

extern struct explored {
	struct shown shown;
	/* the provider; its counts of lists and entries begin at explored_start() */
	struct counting_provider provider;
	struct cache *cache;
	/* Options of the cache that is started; zero: an hour, 20 s, and the system's clocks. */
	int64_t stream_idle_ms, progress_ms;
	const struct clocks *clocks;
} explored;

void explored_setup(void);
void explored_teardown(void);

/* ---- The tree in the sandbox ---- */

/* A path or text, to be freed; explored_child_of() returns one to be freed, too. */
__attribute__((format(printf, 1, 2))) char *explored_text(const char *format, ...);
char *explored_child_of(const char *dir, char letter, unsigned n);
void explored_make_file(const char *path);
void explored_make_dir(const char *path);
/* "f0", "f1", ... */
void explored_make_files(const char *dir, unsigned count);
/* Ten directories of ten directories each, and so on, with `files` in each of the last ones. */
void explored_make_tree(const char *top, unsigned levels, unsigned files);
/*
 * Makes `count` directories, each with a file "f". Their names (explored_long_path()) are too long
 * for one request together.
 */
void explored_make_long_dirs(unsigned count);
/* The path of `name` in the `n`th of these directories; to be freed. */
char *explored_long_path(unsigned n, const char *name);
/* Writes the contents of a new file, or replaces those of an existing one. */
void explored_write(const char *path, const char *contents);
void explored_rename(const char *from, const char *to);
/* `flags`: unlinkat(2)'s. */
void explored_remove_path(const char *path, int flags);

/* ---- The mount's side ---- */

/* Starts a cache whose answers are valid for `valid_ms`. */
void explored_start(int64_t valid_ms);
/* Frees the cache; fails the test when that takes longer than 60 s. */
void explored_end(void);
/* Waits until no listing is under way. */
void explored_wait_idle(void);
/* Waits until a call waits for a listing under way to come to `dir`. */
void explored_await_waiter(const struct inode *dir);
/*
 * The inode that `path` leads to, by one lookup for each name; NULL: there is none. The inode is
 * never forgotten.
 */
struct inode *explored_find(const char *path);
/* The number of entries of `dir`. */
size_t explored_count_of(struct inode *dir);
/* Lists everything below `dir` as `ls -lR` does. Returns the number of entries. */
size_t explored_list_all(struct inode *dir);
uint64_t explored_size_of(const char *path);
/* CHANGE_CREATE or CHANGE_MKDIR. */
struct inode *explored_make(struct inode *dir, const char *name, enum change_op op);
