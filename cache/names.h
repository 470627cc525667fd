/*
 * names.h - changes of names: making, linking, renaming and removing entries.
 */
#pragma once

#include "cache/metadata.h"
#include "cache/write/create_args.h"

/* The new (or, if not exclusive, the existing) entry is handed out like a lookup's. */
enum err cache_make(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	const struct create_args *making, struct cache_entry *out, struct error *e);

/*
 * A file that has no name yet (O_TMPFILE), already open: to be given back with cache_close(), too.
 */
enum err cache_make_nameless(struct cache *c, const struct call *call,
	const struct create_args *making, struct cache_entry *out, struct error *e);

enum err cache_link(struct cache *c, const struct call *call, struct inode *i, struct inode *dir,
	const char *name, struct cache_entry *out, struct error *e);

enum err cache_unlink(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct error *e);
enum err cache_rmdir(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct error *e);

/*
 * The path of `i`, or of `name` in it where that is not NULL, below the shown directory, as it is
 * known now. The sandbox is not asked. To be freed. ERR_STALE: the inode has no name any more.
 */
enum err cache_known_path(
	struct cache *c, const struct inode *i, const char *name, char **out, struct error *e);

/* `flags`: CHANGE_NOREPLACE or CHANGE_EXCHANGE. */
enum err cache_rename(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, uint32_t flags, struct error *e);
