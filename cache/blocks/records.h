/*
 * records.h - a table of a fixed size in a file: a value for each key, the oldest forgotten for
 * lack of room.
 *
 * The file is of pages, each with some records, the newest first. A record is found in the page of
 * its key alone, written in one call, and valid by its checksum. So several processes use the table
 * at once, and it needs neither memory nor loading nor compaction. Damage, or two processes that
 * note at once, cost only the records in that place. A full page forgets its oldest record. A
 * record that is used before that is made the newest.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct records;

/* A hash, whose first bytes choose the page. */
#define RECORDS_KEY_SIZE 16

/*
 * Takes `fd`, open for reading and writing. A file less than half as long as `bytes` is made
 * `bytes` long and forgets all. Values have `value_size` bytes, as they had whenever the file was
 * open.
 */
enum err records_open(
	struct records **out, int fd, uint64_t bytes, size_t value_size, struct error *e);
void records_free(struct records *r);

bool records_find(struct records *r, const unsigned char key[RECORDS_KEY_SIZE], void *value);
/* false: the file cannot be written. */
bool records_note(struct records *r, const unsigned char key[RECORDS_KEY_SIZE], const void *value);
