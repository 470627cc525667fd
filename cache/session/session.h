/*
 * session.h - what the parts of the cache share.
 *
 * The parts are folders, each of which calls only those before it: session, blocks, journal, tree,
 * lease, read, write, and then the cache's face (cache.h, metadata.h, contents.h, names.h). A call
 * to a part behind is an upcall.
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

/* The calls to parts behind the caller's. cache_new() sets all of them. */
struct upcalls {
	/*
	 * Return when the sandbox has the pending changes of `i`; of the names on the way to it; or
	 * all, for an audit.
	 */
	enum err (*drain)(
		struct cache *c, const struct call *call, struct inode *i, struct error *e);
	enum err (*drain_path)(
		struct cache *c, const struct call *call, struct inode *i, struct error *e);
	/* Returns when the changes of an earlier mount are shown or answered. */
	enum err (*await_replay)(struct cache *c, const struct call *call, struct error *e);
	enum err (*drain_to_audit)(struct cache *c, const struct call *call, struct error *e);
	/* The reason why nothing pending can be sent now; ERR_OK: none is known. */
	enum err (*trouble)(struct cache *c, struct error *e);
	/*
	 * Drops prefetched files that no program can read any more; `all`: everything read ahead,
	 * too.
	 */
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
	struct walk *walk;   /* NULL: the sandbox is on this machine */
	struct lease *lease; /* NULL: a sandbox on this machine, or no answer is valid later */
	/* NULL: a sandbox on this machine, or no answer is valid later. */
	struct validity *validity;
	struct cache_options options;
	struct sandbox_info sandbox;
	struct stats stats;
	_Atomic int64_t unanswered_ms;   /* when an apply last failed, monotonic: leftovers.h */
	struct counted_provider counted; /* the provider, as it is called */
	struct bandwidth bandwidth;      /* the bandwidth of the connection to the sandbox */
	pthread_rwlock_t observing;      /* guards `observer`; held for reading during a report */
	struct cache_observer observer;
	/* Guards `is_ending`; held for reading while all is invalidated. */
	pthread_rwlock_t invalidating;
	bool is_ending;        /* the parts that would be invalidated are being freed */
	_Atomic uint64_t uses; /* the number of calls of cache_used() */
	/* Callers of cache_listen(): the stream of changes stays while there are any. */
	_Atomic unsigned listeners;
	atomic_bool has_run;       /* a command or a job has run and ended */
	struct lifetime *lifetime; /* NULL: the sandbox has no end */
	/* The ID of this mount's changes in the sandbox's record. */
	unsigned char journal[JOURNAL_ID_SIZE];
	_Atomic uint64_t staged_names; /* the number of staging names given out */
	struct writeback *writeback;   /* NULL: no change is sent later */
	struct read_ahead *read_ahead; /* NULL: every read asks the sandbox */
	struct prefetch *prefetch;     /* NULL: files are not read together */
	/* NULL: no file is fetched whole in the background. */
	struct background_fetch *background_fetch;
	struct block_store *block_store; /* NULL: nothing is stored; `block_read` is NULL, too */
	struct block_read *block_read;
	struct shown *shown; /* NULL: nothing is kept for later mounts */
	struct retries *retries;
	pthread_mutex_t lock; /* guards what follows */
	struct space space;
	uint64_t grown; /* bytes by which files grew since the room was last asked for (room.h) */
	struct timespec clock; /* the sandbox's clock, at `clock_ms` */
	int64_t clock_ms;
	struct timespec changed; /* the last time that cache_time_of_change() returned */
	struct last_errors errors;
};

/*
 * The call for work that no operation waits for: such a call never wakes a paused sandbox. An
 * operation passes on its own call, which does.
 */
struct call cache_call_of_ours(const struct cache *c, const struct cancel *cancel);
/* The number of uses of the mount so far. Growth means: pending work is a user's request again. */
uint64_t cache_uses(const struct cache *c);

/* Until when an answer to a question of this moment is valid: monotonic milliseconds. */
int64_t cache_attr_until(const struct cache *c);
int64_t cache_name_until(const struct cache *c);

/*
 * Keeps an error that a person should see, and logs it. Ordinary refusals (no such file) are not
 * kept.
 */
void cache_note_error(struct cache *c, const char *path, const struct error *e);
/* Whether nothing on the root's file system can be changed, as far as the sandbox has reported. */
bool cache_is_read_only(struct cache *c);
void cache_note_space(struct cache *c, const struct space *space);
/*
 * As cache_note_error(), for a change that was acknowledged and then refused, or that cannot be
 * sent, whatever the reason.
 */
void cache_note_lost(struct cache *c, const char *path, const struct error *e);
/* Notes the sandbox's clock from an answer, or the time of a change that the answer is about. */
void cache_note_clock(struct cache *c, const struct timespec *now);
/* The least time that the sandbox's clock shows by now. */
struct timespec cache_clock(struct cache *c);
/*
 * The time of a change that is made here now. It is later than that of every change before, so that
 * the times of all files have the order of the calls.
 */
struct timespec cache_time_of_change(struct cache *c);
/* Whether the error may come from a path that leads elsewhere by now. */
bool cache_may_be_lost(enum err kind);
/* Whether the error says nothing of the request, but that the sandbox could not be asked. */
bool cache_is_of_the_call(enum err kind);
/*
 * As cache_is_of_the_call(), and also of a whole batch: a server that failed, or an answer without
 * sense, says nothing of the ops in the batch, though they may have been done. Lack of memory for
 * the request, and an account's used-up quota, count too: asked again, the sandbox may answer.
 */
bool cache_is_no_answer(enum err kind);
/* Whether the sandbox, or the server before it, is not in a state to answer. */
bool cache_is_offline(enum err kind);
