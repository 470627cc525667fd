/*
 * stored.h - contents of files kept, so that nobody has to ask the sandbox for them again.
 *
 * A file's bytes never mix two versions: bytes are kept for the version that the sandbox said they are of, and given only
 * for that one. Whoever keeps bytes knows that this version is settled (tree_unsettled()); whoever reads, that it is what
 * the file is now. Nothing here fails: what cannot be kept is asked for again.
 *
 * Functions take NULL for `s`: nothing is stored. Any function may be called from any thread; none of them asks the
 * sandbox.
 */
#pragma once

#include "cache/block.h"

struct stored;

enum err stored_new(struct stored **out, struct error *e);
void stored_free(struct stored *s);

/*
 * All of the `len` bytes from `offset`, up to the end of the file; *got says how many these are. false: not all of them
 * are here, and `out` may hold anything.
 */
bool stored_read(struct stored *s, const struct attr *version, uint64_t offset, void *out,
	size_t len, size_t *got);

/* Bytes of this version, from anywhere in it. */
void stored_keep(struct stored *s, const struct attr *version, uint64_t offset, const void *bytes,
	size_t len);

/* Whether the whole file is here, as far as that can be told without reading it. */
bool stored_has(struct stored *s, const struct attr *version);
