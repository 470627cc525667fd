/*
 * copy.h - copies trees from one provider to another with their batch verbs, in few calls for many
 * files.
 *
 * Directories, files and symbolic links are copied with their permissions and times; a file with
 * several names becomes several files. One call lists all of it. Contents are fetched many files to
 * a call and leave in batches, so memory follows the number of names and not their contents. A file
 * or a link is made under a name of its own in the target directory. When it is whole it takes its
 * final name, in place of any former file.
 *
 * A failure of one file is reported and does not stop the others. Neither side follows a link.
 */
#pragma once

#include "providers/provider.h"

struct copy_source {
	const char *path;   /* at `from` (base/path.h) */
	const char *target; /* at `to`; "": the entries of `path` go into the root, which exists */
};

struct copy_counts {
	uint64_t files, links, directories; /* copied, or there already */
	uint64_t bytes;                     /* arrived */
	uint64_t failed;
};

struct copy {
	struct provider *from, *to;
	const struct call *call;
	uint32_t mode_mask; /* the permission bits that are kept */
	/* a directory at `to` that is made first, with those above it; "": none */
	const char *base;
	mode_t base_mask; /* the permission bits that these directories do not get, as of a umask */
	/* Called for each failure, with the path at `from`. */
	void (*failed)(void *context, const char *path, enum err kind, const char *text);
	/* Called from time to time; `bytes_total` is of all files. */
	void (*progress)(void *context, uint64_t bytes, uint64_t bytes_total);
	void *context;
};

/*
 * ERR_OK: every file was tried; counts->failed is the number of failures. An error: the copy did
 * not come to its end; `counts` has what was done. ERR_INTERRUPTED: the call was cancelled.
 */
enum err copy_run(const struct copy *c, const struct copy_source *sources, size_t count,
	struct copy_counts *counts, struct error *e);
