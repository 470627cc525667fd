/*
 * copy.h - copies trees from one provider to another over their batch verbs, few calls for many files.
 *
 * What is copied: directories, files and symbolic links with their permissions and times; a file with several names becomes
 * several files. All of it is listed in one call, contents are fetched many files to a call and leave in batches, so memory
 * follows the number of names and not their contents. A file and a link is made under a name of its own beside its place,
 * and takes that, from what was there, when it is whole.
 *
 * What fails of one file is told and leaves the others alone. Neither side follows a link.
 */
#pragma once

#include "providers/provider.h"

struct copy_source {
	const char *path;   /* at `from` (base/path.h) */
	const char *target; /* at `to`; "": what is in `path` goes into the root, which is there */
};

struct copy_counts {
	uint64_t files, links, directories; /* copied, or there already */
	uint64_t bytes;                     /* arrived */
	uint64_t failed;
};

struct copy {
	struct provider *from, *to;
	const struct call *call;
	uint32_t mode_mask; /* the permissions that are kept */
	const char
		*base; /* a directory at `to` that is made first, with those above it; "": none */
	mode_t base_mask; /* the permissions that those do not get, as of a umask */
	/* Each failure, by the path at `from`. */
	void (*failed)(void *context, const char *path, enum err kind, const char *text);
	/* From time to time; `bytes_total` is of all files. */
	void (*progress)(void *context, uint64_t bytes, uint64_t bytes_total);
	void *context;
};

/*
 * ERR_OK: everything was tried, and counts->failed says for how much in vain. An error: the copy did not come to its end;
 * `counts` is what was done. ERR_INTERRUPTED: the call was cancelled.
 */
enum err copy_run(const struct copy *c, const struct copy_source *sources, size_t count,
	struct copy_counts *counts, struct error *e);
