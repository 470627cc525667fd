/*
 * block_store.h - contents of files, stored here so that they need not be fetched again.
 *
 * A file's bytes never mix two versions: bytes are kept for the version that the sandbox said they
 * are of, and given only for that one. A caller that keeps bytes knows that this version is stable
 * (tree_stable_at()). A reader knows that the file has this version now. Nothing here fails:
 * contents that cannot be kept are fetched again.
 *
 * Blocks go to a directory (files.h). While it takes none, or where there is none, they go to
 * memory. Functions take NULL for `s`: nothing is stored. Any function may be called from any
 * thread. None asks the sandbox.
 */
#pragma once

#include "cache/blocks/block.h"
#include "cache/session/stats.h"

struct block_store;

struct block_store_options {
	const char *dir;      /* NULL: memory alone */
	uint64_t size_max;    /* bytes that the directory may take; 0: block_files_open() chooses */
	const char *provider; /* the vendor's name of the sandbox */
	const char *sandbox;  /* the sandbox's ID */
	struct stats *stats;
};

enum err block_store_new(
	struct block_store **out, const struct block_store_options *options, struct error *e);
void block_store_free(struct block_store *s);

struct block_store_room {
	/*
	 * The directory of the blocks, of all mounts of one user; lives as long as `s`; NULL: in
	 * memory.
	 */
	const char *dir;
	uint64_t used, max; /* bytes */
};

/* The room that the stored blocks take, and may take. */
struct block_store_room block_store_room(struct block_store *s);

/*
 * Reads all of the `len` bytes from `offset`, up to the end of the file; *got is their number.
 * false: not all are here, and `out` may hold anything.
 */
bool block_store_read(struct block_store *s, const struct attr *version, uint64_t offset, void *out,
	size_t len, size_t *got);

/* Keeps bytes of this version, from anywhere in it. */
void block_store_keep(struct block_store *s, const struct attr *version, uint64_t offset,
	const void *bytes, size_t len);

/* The effect of one of this mount's changes on the contents of a file. */
struct block_store_change {
	const char *path;   /* the file's path before the change */
	const char *path2;  /* the file's path now */
	struct version met; /* the file's version just before the change */
	struct attr left;   /* the file's attributes now */
	uint64_t offset;    /* the offset of the bytes that were written, if any */
	const void *bytes;
	size_t len;
};

/* The file has other attributes now, and still the bytes of the version `met`. */
void block_store_keep_as(struct block_store *s, const struct block_store_change *c);
/* The file has the bytes that were written, and otherwise those of the version `met`. */
void block_store_keep_written(struct block_store *s, const struct block_store_change *c);

/* Whether the block at `offset` is here, as far as is known without reading it. */
bool block_store_has_at(struct block_store *s, const struct attr *version, uint64_t offset);

/* ---- Files known by their hashes alone ---- */

/*
 * block_store_note_name() notes that a file called `name` was kept, or some of it.
 * block_store_may_have() says whether one of that name and size ever was, perhaps of another
 * sandbox.
 */
void block_store_note_name(struct block_store *s, const char *name, uint64_t size);
bool block_store_may_have(struct block_store *s, const char *name, uint64_t size);

/*
 * The sandbox reports that these are the names of this version's blocks from `first` on
 * (FETCH_HASHES of BLOCK_SIZE). Blocks that are here become the version's own.
 */
void block_store_adopt(struct block_store *s, const struct attr *version, uint64_t first,
	const struct block_name *names, size_t count);
