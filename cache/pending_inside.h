/*
 * pending_inside.h - what pending.c and pending_send.c share; nobody else includes it.
 *
 * Functions that end in _locked expect pending.lock to be held.
 */
#pragma once

#include "cache/pending.h"
#include "cache/pieces.h"

#include <pthread.h>
#include <sys/queue.h>

/*
 * Limits, in bytes: a mouthful is FUSE's largest request; what gathers for one file keeps a link of 100 Mbit/s and any
 * round trip below 0.6 s busy, and its request fits into 8 MiB; the whole bounds the process.
 */
#define PENDING_MOUTHFUL   VERB_DATA_MAX
#define PENDING_GATHER_MAX ((size_t)15 * 512 * 1024)
#define PENDING_TOTAL_MAX  ((size_t)32 * 1024 * 1024)
/* Batches of one file on their way at once: while one is answered the other keeps the link busy. */
#define PENDING_BATCHES_MAX 2
/* So long a write waits for others, in ms. */
#define PENDING_WAIT_MS 100
/* Files that are sent at once. */
#define PENDING_SENDERS_MAX 16

/* A batch on its way. */
struct sending {
	struct pieces pieces;
	uint64_t number; /* over all files; 0: none, this place is free */
	bool overlaps; /* another one was on its way meanwhile: which answer is the newer one does not follow from their order */
};

/* What one file owes. It is there while anything is pending, refused and not reported, or being waited for. */
struct backlog {
	TAILQ_ENTRY(backlog) link;
	struct inode *inode;     /* pinned; its `backlog` leads here */
	struct tree_scope scope; /* begun while anything is pending */
	struct pieces gathered;
	uint64_t gathered_number; /* as that of a batch on its way */
	struct sending sending[PENDING_BATCHES_MAX];
	struct timespec answered; /* the latest ctime in an answer */
	int64_t due_ms;           /* what is gathered is sent then at the latest, monotonic */
	unsigned waiters;
	uint64_t refused_number;      /* of the last refused batch; 0: none */
	struct error refused;         /* the first that was not reported */
	bool for_handle, for_barrier; /* who is still to hear of it */
};

struct pending {
	struct cache *cache;
	struct cancel cancel; /* thrown at the end: sending is given up */
	pthread_mutex_t lock; /* guards what follows and every backlog */
	pthread_cond_t changed;
	TAILQ_HEAD(, backlog) backlogs;
	uint64_t numbers;        /* of batches, given out so far */
	size_t cost;             /* of everything pending */
	uint64_t answers;        /* batches answered so far */
	uint64_t refused_number; /* of the last refused batch of any file; 0: none */
	struct error refused;
	unsigned under_way;
	pthread_t senders[PENDING_SENDERS_MAX];
	unsigned senders_count, senders_idle;
	bool stopping;
};

/* One more thread, if none is idle and there may be one more; without memory the others have more to do. */
void senders_wake_locked(struct pending *p);
void senders_stop(struct pending *p);

bool backlog_is_sending(const struct backlog *b);
/*
 * Where what is gathered may leave from, NULL: not yet. Beside another batch it leaves only when it is much and when it
 * does not matter which of the two is done first.
 */
struct sending *backlog_place(struct backlog *b);

/* Frees it if nothing keeps it. */
void backlog_rest_locked(struct pending *p, struct backlog *b);
