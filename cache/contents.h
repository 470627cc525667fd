/*
 * contents.h - the contents of files: handles, reads, and the changes of one inode.
 */
#pragma once

#include "cache/metadata.h"

/*
 * Opens a handle; `flags` are open(2)'s. ERR_DENIED: the sandbox user may not. *keep_pages: the
 * pages that the kernel has cached of the file are still right. To be given back with
 * cache_close().
 */
enum err cache_open(struct cache *c, const struct call *call, struct inode *i, int flags,
	bool *keep_pages, struct error *e);
/*
 * As cache_open(), for a file that cache_make() just handed out: the maker of a file may use it,
 * whatever its mode. *made is brought up to date.
 */
enum err cache_open_made(struct cache *c, const struct call *call, struct cache_entry *made,
	int flags, struct error *e);
void cache_close(struct cache *c, struct inode *i);

/*
 * Whether the size does not say where the contents end. Each read makes the contents, and none may
 * be cached, as in /proc and /sys. A write to such a file returns when the sandbox has it.
 */
bool cache_reads_directly(struct cache *c, struct inode *i);
/* *got < len: the end of the file. */
enum err cache_read(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	void *out, size_t len, size_t *got, struct error *e);

enum write_flags {
	WRITE_APPEND = 1,  /* at the end of the file, wherever that is in the sandbox by then */
	WRITE_THROUGH = 2, /* the write returns when the sandbox has it */
};

/*
 * Writes through an open handle. With a remote sandbox the call returns before the sandbox has the
 * bytes (cache/write/writeback.h): the error may be that of an earlier write to the file. `flags`:
 * enum write_flags.
 */
enum err cache_write(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	const void *bytes, size_t len, unsigned flags, struct error *e);

/*
 * Called at every close of a handle for writing. With close_waits the call returns when the sandbox
 * has the written bytes, or with the reason why it has not. Without it the call does not wait: it
 * returns an earlier failure that was not reported yet.
 */
enum err cache_flush(struct cache *c, const struct call *call, struct inode *i, struct error *e);

/*
 * Makes the changes that struct change names for SETATTR: `set`, mode, uid, gid, size, atime,
 * mtime.
 */
enum err cache_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool by_handle, struct error *e);

enum err cache_fallocate(struct cache *c, const struct call *call, struct inode *i, int mode,
	uint64_t offset, uint64_t len, struct error *e);

/* Copies within the sandbox. *copied may be less than `len`: the end of the source. */
enum err cache_copy(struct cache *c, const struct call *call, struct inode *from, uint64_t offset,
	struct inode *to, uint64_t offset2, uint64_t len, uint64_t *copied, struct error *e);

/* lseek(2)'s SEEK_DATA and SEEK_HOLE. */
enum err cache_seek(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	bool hole, uint64_t *out, struct error *e);

/* `flags`: CHANGE_EXCL, CHANGE_REPLACE. */
enum err cache_setxattr(struct cache *c, const struct call *call, struct inode *i, const char *name,
	const void *value, size_t len, uint32_t flags, struct error *e);
enum err cache_removexattr(struct cache *c, const struct call *call, struct inode *i,
	const char *name, struct error *e);

/* fsync(2), also of a directory: returns when the sandbox has the file on its disk. */
enum err cache_fsync(struct cache *c, const struct call *call, struct inode *i, struct error *e);
