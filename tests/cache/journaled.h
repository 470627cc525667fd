/*
 * journaled.h - a journal in a scratch directory, with short functions for its tests.
 *
 * Every function fails the test by itself (criterion).
 */
#pragma once

#include "cache/journal/journal.h"
#include "providers/base/buf.h"
#include "tests/support/scratch.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

struct journaled {
	struct scratch scratch;
	char state[20]; /* in scratch: "state", where journals lie that were set aside */
	char dir[130];  /* scratch/state/journal, which journaled_open() opens */
	unsigned left;  /* directories made for journals that others left */
	struct journal *journal;
};

void journaled_setup(struct journaled *j, uint64_t size_max);
void journaled_teardown(struct journaled *j);
void journaled_open(struct journaled *j, uint64_t size_max);
void journaled_reopen(struct journaled *j);

/* The `len` bytes that write number `n` has; static. */
const void *journaled_bytes(uint64_t n, size_t len);
enum err journaled_try_write(struct journaled *j, const char *path, uint64_t n, size_t len,
	uint64_t *number, struct journal_extent *where, struct error *e);
/* Adds a CHANGE_WRITE at offset `n`. Returns the place of its data. */
struct journal_extent journaled_write(
	struct journaled *j, const char *path, uint64_t n, size_t len);
/* Adds a change without data. Returns the number of the entry. */
uint64_t journaled_name(
	struct journaled *j, enum change_op op, const char *path, const char *path2);
void journaled_done(struct journaled *j, uint64_t first, uint64_t last);
/* Whether a read of `where` returns the bytes of write `n` from `from` on. */
bool journaled_reads(
	struct journaled *j, const struct journal_extent *where, uint64_t n, size_t from);

/* Every unsynced entry, a line each: "NUMBER:PATH>PATH2+LEN seq SEQUENCE left KIND: why". */
void journaled_expect(struct journaled *j, const char *expected);
uint64_t journaled_unsynced(struct journaled *j);
uint64_t journaled_failed(struct journaled *j);
uint64_t journaled_size(struct journaled *j);

/* Files in scratch/DIR whose names begin so. */
size_t journaled_count(const struct journaled *j, const char *dir, const char *prefix);
