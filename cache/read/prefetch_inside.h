/*
 * prefetch_inside.h - what the files of prefetch share; nobody else includes it.
 *
 * Functions that end in _locked expect prefetch.lock to be held.
 */
#pragma once

#include "cache/read/fetch.h"
#include "cache/read/prefetch.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include <sys/queue.h>

/* Of contents here; what had to go may still be stored. */
#define PREFETCH_MEMORY_MAX ((size_t)8 * 1024 * 1024)

/* A power of two: a few files in each, where they are of 4 KiB. */
#define PREFETCH_BUCKETS 1024

struct prefetch_call;

/* One file, or an end of it: awaited while `call` is set, then here. */
struct prefetch_file {
	LIST_ENTRY(prefetch_file) in_bucket;
	TAILQ_ENTRY(prefetch_file) by_use; /* where it is here */
	struct inode *inode;               /* pinned by whoever it is of: the call, then us */
	struct prefetch_call *call;
	uint64_t offset; /* of what is meant of it, `size` bytes */
	uint64_t size;
	bool has_end;
	unsigned number; /* of the call that brings or brought it */
	uint64_t before; /* bytes that come before it in the call */
	bool was_read;
	struct attr version;
	uint64_t seen; /* when it was asked for */
	unsigned char *bytes;
	size_t len;
};

/* The latest call, for choosing the next. */
struct prefetch_latest {
	unsigned number;
	struct inode *dir; /* that of its first file, pinned; NULL: of none */
	enum tree_reach reach;
	unsigned files, used; /* brought along, and read of them */
	unsigned streak;      /* calls in a row of which most was read */
	int64_t used_ms;      /* when one of its files was last asked for */
};

struct prefetch {
	struct cache *cache;
	struct cancel cancel;   /* of all calls */
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed; /* a file came, or a call ended */
	LIST_HEAD(bulk_bucket, prefetch_file) buckets[PREFETCH_BUCKETS];
	TAILQ_HEAD(, prefetch_file) by_use; /* oldest first */
	size_t used;                        /* bytes of all that are here */
	unsigned calls_begun;
	LIST_HEAD(, prefetch_call) calls;
	unsigned calls_count; /* under way */
	struct prefetch_latest latest;
};

/* ---- prefetch_files.c: which are awaited and which are here ---- */

/* What has these bytes, as far as there are any. */
struct prefetch_file *prefetch_find_locked(
	struct prefetch *b, const struct inode *i, uint64_t offset, uint64_t len);
/* NULL without memory. There is none for it yet. */
struct prefetch_file *prefetch_await_locked(
	struct prefetch *b, const struct tree_file *file, struct prefetch_call *call);
/* Its bytes came, which it takes; older ones make room for them. */
void prefetch_has_locked(
	struct prefetch *b, struct prefetch_file *f, unsigned char *bytes, size_t len);
void prefetch_forget_locked(struct prefetch *b, struct prefetch_file *f);
/* All that is here of it. */
void prefetch_forget_all_locked(struct prefetch *b, const struct inode *i);
/* All that is here of files that nobody can read any more. */
void prefetch_forget_unused_locked(struct prefetch *b);
/* Of one that is here: it is wanted. */
void prefetch_use_locked(struct prefetch *b, struct prefetch_file *f);

/* ---- prefetch_plan.c: what a call is to bring ---- */

/*
 * `first`, and as many of those around it as `limits` allow that are neither awaited nor here nor stored, with their pins,
 * as an array to be freed. NULL: `first` has no path, or no memory. The disk is asked without the tree's lock.
 */
struct tree_file *prefetch_plan_locked(struct prefetch *b, struct inode *first,
	const struct tree_gathering *limits, size_t *count);

/* ---- prefetch_call.c: one fetch of many files ---- */

struct prefetch_call {
	LIST_ENTRY(prefetch_call) link; /* prefetch.lock */
	struct prefetch *prefetch;
	unsigned number;
	struct tree_file *files; /* the call's, with their pins */
	size_t count;
	size_t *asked_files; /* the thread's own: which of them each item is */
	size_t asked_count;
	bool no_atime;    /* asked by the reader of the first */
	uint64_t planned; /* bytes of all files */
	struct asked asked;
	struct progress progress;
	uint64_t
		arrived; /* bytes of files that came, or never will; prefetch.lock, as what follows */
	unsigned readers; /* who wait for it */
	bool is_over;
	struct error error; /* of the whole call */
	pthread_t thread;
	bool has_thread;
	/* The thread's own: */
	unsigned char *filling;
	size_t filled;
};

/* Begins to fetch `first` and what belongs with it; NULL: there may be no more. */
struct prefetch_call *prefetch_call_begin_locked(struct prefetch *b, struct inode *first,
	const struct tree_gathering *limits, bool no_atime);
/* Bytes of file `n` that there is room for: of the first, which somebody waits for, also if it is longer than we thought. */
size_t prefetch_call_room(const struct prefetch_call *call, size_t n);
/* What is in `filling` is file `n`, of this version. */
void prefetch_call_took(struct prefetch_call *call, size_t n, const struct attr *version);

/* ---- prefetch_alike.c: what of a call's files is here already, as another sandbox's ---- */

/* Takes them, and fills `asked_files` with the others. ERR_NO_MEMORY only. */
enum err prefetch_take_alike(
	struct prefetch_call *call, const struct call *limits, struct error *e);

/* Calls that are over, and for which nobody waits. */
void prefetch_drop_over_locked(struct prefetch *b);
/* Waits for its thread, which is over or about to be. */
void prefetch_call_free(struct prefetch_call *call);
