/*
 * prefetch_inside.h - what the files of prefetch share; no other file includes it.
 *
 * Functions that end in _locked expect prefetch.lock to be held.
 */
#pragma once

#include "cache/read/fetch.h"
#include "cache/read/prefetch.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include <sys/queue.h>

/* Bytes of contents here; a file that had to make room may still be stored. */
#define PREFETCH_MEMORY_MAX ((size_t)8 * 1024 * 1024)

/* A power of two: a few files in each bucket, where they are of 4 KiB. */
#define PREFETCH_BUCKETS 1024

struct prefetch_call;

/* One file, or an end of it: awaited while `call` is set, then here. */
struct prefetch_file {
	LIST_ENTRY(prefetch_file) in_bucket;
	TAILQ_ENTRY(prefetch_file) by_use; /* linked once the file is here */
	struct inode *inode; /* pinned by the call, and by this once the file is here */
	struct prefetch_call *call;
	uint64_t offset; /* the part of the file begins here and has `size` bytes */
	uint64_t size;
	bool has_end;
	unsigned number; /* the number of the call that brings or brought the file */
	uint64_t before; /* bytes that come earlier in the call */
	bool was_read;
	struct attr version;
	uint64_t seen; /* the tree's serial number at the question */
	unsigned char *bytes;
	size_t len;
};

/* The latest call, by which the next is chosen. */
struct prefetch_latest {
	unsigned number;
	/* The directory of the call's first file, pinned; NULL: there was no call. */
	struct inode *dir;
	enum tree_reach reach;
	unsigned files, used; /* the files that came along, and how many of them were read */
	unsigned streak;      /* calls in a row whose files were mostly read */
	int64_t used_ms;      /* when one of the files was last asked for */
};

struct prefetch {
	struct cache *cache;
	struct cancel cancel;   /* cancels all calls */
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed; /* a file came, or a call ended */
	LIST_HEAD(bulk_bucket, prefetch_file) buckets[PREFETCH_BUCKETS];
	TAILQ_HEAD(, prefetch_file) by_use; /* the least recently used first */
	size_t used;                        /* bytes of all files that are here */
	unsigned calls_begun;
	LIST_HEAD(, prefetch_call) calls;
	unsigned calls_count; /* calls under way */
	struct prefetch_latest latest;
};

/* ---- prefetch_files.c: the files that are awaited, and those that are here ---- */

/* The file, or the end of it, that has these bytes, as far as they exist. */
struct prefetch_file *prefetch_find_locked(
	struct prefetch *b, const struct inode *i, uint64_t offset, uint64_t len);
/* NULL without memory. The file is not awaited yet. */
struct prefetch_file *prefetch_await_locked(
	struct prefetch *b, const struct tree_file *file, struct prefetch_call *call);
/* The file has come. Takes `bytes`; older files make room. */
void prefetch_has_locked(
	struct prefetch *b, struct prefetch_file *f, unsigned char *bytes, size_t len);
void prefetch_forget_locked(struct prefetch *b, struct prefetch_file *f);
/* Drops all parts of the file that are here. */
void prefetch_forget_all_locked(struct prefetch *b, const struct inode *i);
/* Drops the files that are here and that no program can read any more. */
void prefetch_forget_unused_locked(struct prefetch *b);
/* Moves a file that is here to the recently used ones. */
void prefetch_use_locked(struct prefetch *b, struct prefetch_file *f);

/* ---- prefetch_plan.c: the files that a call is to bring ---- */

/*
 * `first`, and as many files around it as `limits` allow that are neither awaited nor here nor
 * stored, with their pins, as an array to be freed. NULL: `first` has no path, or no memory. The
 * disk is read without the tree's lock.
 */
struct tree_file *prefetch_plan_locked(struct prefetch *b, struct inode *first,
	const struct tree_file_query *limits, size_t *count);

/* ---- prefetch_call.c: one fetch of many files ---- */

struct prefetch_call {
	LIST_ENTRY(prefetch_call) link; /* prefetch.lock */
	struct prefetch *prefetch;
	unsigned number;
	struct tree_file *files; /* the call's files, with their pins */
	size_t count;
	size_t *asked_files; /* the thread's own: the file of each item */
	size_t asked_count;
	bool no_atime;    /* the reader of the first file asked for this */
	uint64_t planned; /* bytes of all files */
	struct asked asked;
	struct progress progress;
	/*
	 * Bytes of the files that came, or never will. prefetch.lock guards this and the fields
	 * below.
	 */
	uint64_t arrived;
	unsigned readers; /* readers that wait for the call */
	bool is_over;
	struct error error; /* the error of the whole call */
	pthread_t thread;
	bool has_thread;
	/* The fields below belong to the thread. */
	unsigned char *filling;
	size_t filled;
};

/* Begins to fetch `first` and the files that belong with it; NULL: no more calls are possible. */
struct prefetch_call *prefetch_call_begin_locked(struct prefetch *b, struct inode *first,
	const struct tree_file_query *limits, bool no_atime);
/*
 * Bytes of file `n` for which there is room. A reader waits for the first file, so that it has room
 * even if it is longer than was known.
 */
size_t prefetch_call_room(const struct prefetch_call *call, size_t n);
/* The bytes in `filling` are file `n`, of this version. */
void prefetch_call_took(struct prefetch_call *call, size_t n, const struct attr *version);

/* ---- prefetch_alike.c: files of a call that are stored already, from another sandbox ---- */

/* Takes such files, and fills `asked_files` with the others. ERR_NO_MEMORY only. */
enum err prefetch_take_alike(
	struct prefetch_call *call, const struct call *limits, struct error *e);

/* Frees the calls that are over and have no readers. */
void prefetch_drop_over_locked(struct prefetch *b);
/* Waits for the call's thread, which is over or about to be. */
void prefetch_call_free(struct prefetch_call *call);
