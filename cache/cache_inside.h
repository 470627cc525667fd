/*
 * cache_inside.h - what the files of the cache share; nobody else includes it.
 */
#pragma once

#include "cache/read/read_ahead.h"
#include "cache/read/prefetch.h"
#include "cache/read/background_fetch.h"
#include "cache/session/last_errors.h"
#include "cache/session/lifetime.h"
#include "cache/metadata.h"
#include "cache/session/counted_provider.h"
#include "cache/write/writeback.h"
#include "cache/session/stats.h"
#include "cache/read/block_read.h"
#include "cache/lease/retry.h"
#include "cache/blocks/block_store.h"
#include "cache/tree/tree.h"

#include <pthread.h>
#include <stdatomic.h>

struct lease; /* cache/lease/lease.h */
struct trust; /* cache/lease/validity.h */
struct walk;  /* cache/lease/walk.h */

struct cache {
	struct provider *provider;
	struct tree *tree;
	struct walk *walk;   /* NULL: the sandbox is on this machine */
	struct lease *lease; /* NULL: likewise, or no answer is to be believed */
	struct trust *trust; /* NULL: likewise, or no answer is to be believed */
	struct cache_options options;
	struct sandbox_info sandbox;
	struct stats stats;
	_Atomic int64_t unanswered_ms; /* when an apply last failed, monotonic: leftovers.h */
	struct metered metered;        /* the provider, as it is called */
	struct bandwidth bandwidth;    /* of the connection to it */
	pthread_rwlock_t observing;    /* guards what follows; held for reading while it is told */
	struct cache_observer observer;
	pthread_rwlock_t doubting; /* guards the next one; held for reading while all is doubted */
	bool is_ending;            /* what would be put in doubt is being freed */
	_Atomic uint64_t uses;     /* cache_used() */
	_Atomic unsigned
		listeners;   /* cache_listen(): the stream of changes stays while there are any */
	atomic_bool has_run; /* a command or a job, which has ended */
	struct lifetime *lifetime;              /* NULL: the sandbox has no end */
	unsigned char journal[JOURNAL_ID_SIZE]; /* this mount's changes, in the sandbox's record */
	_Atomic uint64_t staged_names;          /* how many staging names were given out */
	struct pending *pending;                /* NULL: writes go straight through */
	struct ahead *ahead;                    /* NULL: every read asks */
	struct bulk *bulk;                      /* NULL: no files are read together */
	struct fill *fill;                      /* NULL: no file is fetched behind its reader */
	struct stored *stored;                  /* NULL: nothing is; nor the next */
	struct recall *recall;
	struct retries retries;
	pthread_mutex_t lock; /* guards what follows */
	struct space space;
	uint64_t grown; /* bytes of files, since that was last asked for their sake (room.h) */
	struct timespec clock; /* the sandbox's, when it was last heard of */
	int64_t clock_ms;
	struct timespec changed; /* the last time that cache_time_of_change() gave */
	struct last_errors errors;
};

/* Inodes known beyond those the kernel uses: with its name one takes 400 bytes, and all of them less than 100 MB. */
#define CACHE_IDLE_MAX 220000

/* How often an operation asks again, each time because renames here moved its path while it was under way. */
#define CACHE_TRIES 64
/* So many of them while renames go on; for the others they wait. */
#define CACHE_TRIES_FREE 4

/*
 * The call of work that no operation waits for: such a call never
 * wakes a paused sandbox. An operation passes on its own call, which does.
 */
struct call cache_call_of_ours(const struct cache *c, const struct cancel *cancel);
/* How often the mount was used so far. Growth means: pending work is a user's request again. */
uint64_t cache_uses(const struct cache *c);

/* Until when what is asked now may be believed. */
int64_t cache_attr_until(const struct cache *c);
int64_t cache_name_until(const struct cache *c);

/* Remembers an error that a person should hear of, and logs it. Ordinary refusals (no such file) are not. */
void cache_note_error(struct cache *c, const char *path, const struct error *e);
/* Whether nothing on the root's file system can be changed, as far as the sandbox has told. */
bool cache_is_read_only(struct cache *c);
void cache_note_space(struct cache *c, const struct space *space);
/* The same of a change that was acknowledged and then refused, or that cannot be sent, whatever the reason. */
void cache_note_lost(struct cache *c, const char *path, const struct error *e);
/* An answer carried the sandbox's clock, or the time of a change that it was about. */
void cache_note_clock(struct cache *c, const struct timespec *now);
/* What it shows by now at least. */
struct timespec cache_clock(struct cache *c);
/*
 * The time of a change that is made here now: later than that of every change before, so that the
 * times of all files have the order of the calls.
 */
struct timespec cache_time_of_change(struct cache *c);
/* Whether such an answer may be the fault of a path that leads elsewhere by now. */
bool cache_may_be_lost(enum err kind);
/* Whether it says nothing of what was asked for, but that nobody could be asked. */
bool cache_is_of_the_call(enum err kind);
/*
 * The same, and of a whole batch that a server in trouble, or an answer without sense, says nothing
 * of what is in it, though it may have been done; or that there was no memory to ask, or the
 * account's quota is used up: asked again, it may be told.
 */
bool cache_is_no_answer(enum err kind);
/* The sandbox, or who stands before it, is not in a state to answer. */
bool cache_is_unheard(enum err kind);
/* Passes on what the tree tells; the context is the cache. */
void cache_tell(void *context, const struct tree_told *told);
void cache_tell_inode(struct cache *c, struct inode *i, bool pages);
/*
 * As cache_command_ended(), for one who waits for it: where the kernel has much, and a stream lives,
 * an audit comes first, and the kernel keeps what that confirms. `root`: as the command's answer told
 * it, which was asked for at `seen`.
 */
void cache_command_answered(
	struct cache *c, const struct call *call, uint64_t seen, const struct attr *root);
/* As cache_doubt_all(), on account of what no stream tells: what is being read ahead knows by itself what it is worth. */
void cache_doubt_untold(struct cache *c);
/* Of a change that the sandbox told of and that was not made here. */
void cache_tell_changed(struct cache *c, enum watch_kind kind, const char *path, bool is_dir);

/* Fills *out and takes a kernel reference. The caller holds a pin. `dir` NULL: without a name. */
void cache_hand_out(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);
/* The same of what was just made here, and is shown as it will be: what it is may be asked at once. */
void cache_hand_out_made(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);

/* A place in the tree: an inode, or a name in one. */
struct cache_place {
	struct inode *inode;
	const char *name; /* NULL: the inode itself */
};

/*
 * Calls `ask` with the path of `one` (and of `two`, where two->inode is not NULL), and again while it fails through paths
 * that a rename here moved meanwhile. Where an inode itself, asked for alone, turns out not to be where it was, that name
 * is dropped and another one tried. A change that succeeds was done in the right place, since it names its directory; an
 * answer about a name (cache_ask_name) counts only if the path to it did not move.
 */
typedef enum err (*cache_ask)(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e);
enum err cache_with_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e);
/* The same for what has begun a move itself. */
enum err cache_move_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e);
enum err cache_with_path(struct cache *c, struct inode *i, const char *name, cache_ask ask,
	void *context, struct error *e);
enum err cache_ask_name(struct cache *c, struct inode *dir, const char *name, cache_ask ask,
	void *context, struct error *e);
