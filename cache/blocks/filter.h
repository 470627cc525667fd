/*
 * filter.h - the files that were ever stored, by name and size: a Bloom filter in a file of 1 MiB,
 * for all mounts of one user.
 *
 * The answer is "maybe" or "no": for a file that was never stored the sandbox need not be asked for
 * hashes. The filter forgets as it fills: at most half of the bits in a line are set, and all bits
 * of a file are in one line. Any function may be called from any thread and any process.
 */
#pragma once

#include "cache/blocks/block.h"

struct filter;

/* Takes `fd`, open for reading and writing. */
enum err filter_open(struct filter **out, int fd, struct error *e);
void filter_free(struct filter *f);

/* `name`: the last name in the file's path. */
void filter_add(struct filter *f, const char *name, uint64_t size);
bool filter_may_have(struct filter *f, const char *name, uint64_t size);
