/*
 * block.h - contents cut into blocks, each named by its hash: equal blocks have one name, of
 * whatever file they are.
 *
 * XXH3-128 is fast and spreads well, but a program that chooses the bytes can make two blocks of
 * one name. So a sandbox can spoil the stored contents of its own files, and of other sandboxes'
 * files whose contents it knows; no more than that.
 */
#pragma once

#include "providers/verbs.h"

/*
 * With this size a change in one place of 1 MiB stores little twice, and 100 MB are fewer than a
 * thousand files.
 */
#define BLOCK_SIZE ((size_t)128 * 1024)

/* XXH3-128, canonical: as FETCH_HASHES has it. */
struct block_name {
	unsigned char bytes[16];
};

struct block_name block_name(const void *bytes, size_t len);
bool block_names_equal(const struct block_name *a, const struct block_name *b);
/* A number that is spread over all values: for tables. */
uint64_t block_name_number(const struct block_name *name);

/* How many blocks a file of `size` bytes has, and how long block `index`, which it has, is. */
uint64_t block_count(uint64_t size);
size_t block_len(uint64_t size, uint64_t index);
