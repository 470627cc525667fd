/*
 * block_store.h - contents of files kept, so that nobody has to ask the sandbox for them again.
 *
 * A file's bytes never mix two versions: bytes are kept for the version that the sandbox said they are of, and given only
 * for that one. Whoever keeps bytes knows that this version is settled (tree_settled_at()); whoever reads, that it is what
 * the file is now. Nothing here fails: what cannot be kept is asked for again.
 *
 * Blocks go to a directory (files.h), and while it takes none, or where there is none, to memory. Functions take NULL
 * for `s`: nothing is stored. Any function may be called from any thread; none of them asks the sandbox.
 */
#pragma once

#include "cache/blocks/block.h"
#include "cache/session/stats.h"

struct block_store;

struct block_store_options {
	const char *dir;      /* NULL: memory alone */
	uint64_t size_max;    /* bytes that the directory may take; 0: block_files_open() chooses */
	const char *provider; /* which sandbox it is: the vendor's name, */
	const char *sandbox;  /* and its ID */
	struct stats *stats;
};

enum err block_store_new(
	struct block_store **out, const struct block_store_options *options, struct error *e);
void block_store_free(struct block_store *s);

struct block_store_room {
	const char *
		dir; /* where blocks are, of all mounts of one user; lives as long as `s`; NULL: in memory */
	uint64_t used, max; /* bytes */
};

/* What is stored takes, and may take. */
struct block_store_room block_store_room(struct block_store *s);

/*
 * All of the `len` bytes from `offset`, up to the end of the file; *got says how many these are. false: not all of them
 * are here, and `out` may hold anything.
 */
bool block_store_read(struct block_store *s, const struct attr *version, uint64_t offset, void *out,
	size_t len, size_t *got);

/* Bytes of this version, from anywhere in it. */
void block_store_keep(struct block_store *s, const struct attr *version, uint64_t offset,
	const void *bytes, size_t len);

/* What a change of ours did to the contents of a file. */
struct block_store_change {
	const char *path;   /* where the file was, */
	const char *path2;  /* and where it is now */
	struct version met; /* what the file was just before, */
	struct attr left;   /* and is now */
	uint64_t offset;    /* of what was written, if anything */
	const void *bytes;
	size_t len;
};

/* The file has other attributes now, and still the bytes of the version that was met. */
void block_store_keep_as(struct block_store *s, const struct block_store_change *c);
/* The file has the bytes that were written, and else those of the version that was met. */
void block_store_keep_written(struct block_store *s, const struct block_store_change *c);

/* Whether the block at `offset` is here, as far as that can be told without reading. */
bool block_store_has_at(struct block_store *s, const struct attr *version, uint64_t offset);

/* ---- Files of which only the hashes were asked ---- */

/* A file called `name` was kept, or some of it; whether one of that name and size ever was, perhaps of another sandbox. */
void block_store_note_name(struct block_store *s, const char *name, uint64_t size);
bool block_store_may_have(struct block_store *s, const char *name, uint64_t size);

/*
 * The sandbox says that these are the names of this version's blocks from `first` on (FETCH_HASHES of BLOCK_SIZE). Those
 * that are here become its own.
 */
void block_store_adopt(struct block_store *s, const struct attr *version, uint64_t first,
	const struct block_name *names, size_t count);
