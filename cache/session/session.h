/*
 * session.h - what the parts of the cache share.
 *
 * The parts are folders, each of which calls only those before it: session, blocks, journal, tree,
 * lease, read, write, and then the cache's face (cache.h, metadata.h, contents.h, names.h). What a
 * part needs of one behind it is an upcall.
 */
#pragma once

#include "cache/session/bandwidth.h"
#include "cache/session/counted_provider.h"
#include "cache/session/last_errors.h"
#include "cache/session/lifetime.h"
#include "cache/session/observer.h"
#include "cache/session/options.h"
#include "cache/session/stats.h"
#include "cache/session/status.h"

#include "providers/provider.h"

#include <pthread.h>
#include <stdatomic.h>

struct tree;             /* cache/tree/tree.h */
struct block_store;      /* cache/blocks/block_store.h */
struct shown;            /* cache/blocks/shown.h */
struct lease;            /* cache/lease/lease.h */
struct retries;          /* cache/lease/retry.h */
struct validity;         /* cache/lease/validity.h */
struct walk;             /* cache/lease/walk.h */
struct read_ahead;       /* cache/read/read_ahead.h */
struct prefetch;         /* cache/read/prefetch.h */
struct background_fetch; /* cache/read/background_fetch.h */
struct block_read;       /* cache/read/block_read.h */
struct writeback;        /* cache/write/writeback.h */

/* What a part asks of those behind it. cache_new() sets all of them. */
struct upcalls {
	/* The sandbox has what is pending of `i`; of the names on the way to it; all, for an audit. */
	enum err (*drain)(
		struct cache *c, const struct call *call, struct inode *i, struct error *e);
	enum err (*drain_path)(
		struct cache *c, const struct call *call, struct inode *i, struct error *e);
	enum err (*drain_to_audit)(struct cache *c, const struct call *call, struct error *e);
	/* Why nothing that is pending can be sent now; ERR_OK: nothing is known against it. */
	enum err (*trouble)(struct cache *c, struct error *e);
	/* Forgets what was fetched and not read yet; `all`: of what is read in sequence, too. */
	void (*drop_fetched)(struct cache *c, bool all);
	/* cache_attr() and cache_close(). */
	enum err (*attr)(struct cache *c, const struct call *call, struct inode *i,
		struct attr *out, int64_t *valid_ms, struct error *e);
	void (*close)(struct cache *c, struct inode *i);
};

struct cache {
	struct provider *provider;
	struct upcalls upcalls;
	struct tree *tree;
	struct walk *walk;         /* NULL: the sandbox is on this machine */
	struct lease *lease;       /* NULL: likewise, or no answer is to be believed */
	struct validity *validity; /* NULL: likewise, or no answer is to be believed */
	struct cache_options options;
	struct sandbox_info sandbox;
	struct stats stats;
	_Atomic int64_t unanswered_ms;   /* when an apply last failed, monotonic: leftovers.h */
	struct counted_provider counted; /* the provider, as it is called */
	struct bandwidth bandwidth;      /* of the connection to it */
	pthread_rwlock_t observing; /* guards what follows; held for reading while it is told */
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
	struct writeback *writeback;            /* NULL: writes go straight through */
	struct read_ahead *read_ahead;          /* NULL: every read asks */
	struct prefetch *prefetch;              /* NULL: no files are read together */
	struct background_fetch *background_fetch; /* NULL: no file is fetched behind its reader */
	struct block_store *block_store;           /* NULL: nothing is; nor the next */
	struct block_read *block_read;
	struct shown *shown; /* NULL: nothing is remembered for later mounts */
	struct retries *retries;
	pthread_mutex_t lock; /* guards what follows */
	struct space space;
	uint64_t grown; /* bytes of files, since that was last asked for their sake (room.h) */
	struct timespec clock; /* the sandbox's, when it was last heard of */
	int64_t clock_ms;
	struct timespec changed; /* the last time that cache_time_of_change() gave */
	struct last_errors errors;
};

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
bool cache_is_offline(enum err kind);
