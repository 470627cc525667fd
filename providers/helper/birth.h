/*
 * birth.h - the time of birth on a file system of layers.
 *
 * The first change of a file of a lower layer copies it, and the copy is the same file with another
 * time of birth. So a time of birth counts there only of what was born since this process began: it
 * was made or copied since then, and neither happens to it again. Births before that are not told.
 */
#pragma once

#include "providers/verbs.h"

/* The moment and the file system that a time of birth is compared with. */
struct birth_since {
	uint64_t began_ns; /* this process, since 1970 */
	uint64_t dev;      /* the file system of "/": the layers of others may be filled any time */
};

/*
 * Keeps the time of birth of `a`, which is on a file system of layers, with BIRTH_PASSES if it
 * counts, else clears it.
 */
void birth_keep_since(const struct birth_since *since, struct attr *a);

/* birth_keep_since() for this process. Threads: any. */
void birth_keep_since_start(struct attr *a);
