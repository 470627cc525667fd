/*
 * filter.h - which files were ever stored, by name and size: a Bloom filter in a file of 1 MiB, for all mounts of one user.
 *
 * It answers "maybe" or "no": for a file that was never stored nobody need ask what it is made of. It forgets as it fills:
 * of the bits of one line, where all of a file's stand, at most half are set. Any function may be called from any thread
 * and any process.
 */
#pragma once

#include "cache/blocks/block.h"

struct filter;

/* Takes `fd`, open for reading and writing. */
enum err filter_open(struct filter **out, int fd, struct error *e);
void filter_free(struct filter *f);

/* `name`: the last one of its path. */
void filter_add(struct filter *f, const char *name, uint64_t size);
bool filter_may_have(struct filter *f, const char *name, uint64_t size);
