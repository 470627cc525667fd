/*
 * distant.h - a provider that does what the helper does in a scratch directory, and lets a test
 * decide when.
 *
 * The provider counts calls and holds them at a gate. Every wait has a deadline: a call's own while
 * the call is held, 120 s in a test; a call's own is 120 s, too.
 */
#pragma once

#include "cache/cache.h"
#include "cache/session/clocks.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/blocks/block_store.h"
#include "providers/helper/root.h"
#include "tests/support/scratch.h"

#include <pthread.h>
#include <stdatomic.h>

#define AN_HOUR_MS 3600000

/* Whether every block of this version is stored. */
bool stored_whole(struct block_store *s, const struct attr *version);

struct distant {
	struct provider base;
	struct scratch scratch;
	struct scratch journal; /* where changes lie between caches, if `keeps_journal` */
	bool keeps_journal;
	struct root root;
	struct cache *cache;
	int64_t progress_ms; /* the cache's own deadlines, set before the cache is made; 0: 120 s */
	int64_t belief_ms;   /* how long attributes and names are valid; -1: the cache's default */
	_Atomic int64_t now_ms; /* the cache's clock, which stands still */
	struct clocks clocks;
	_Atomic int64_t fetch_ms; /* how long each fetch takes by that clock */
	pthread_mutex_t lock;     /* guards what follows */
	pthread_cond_t changed;
	unsigned lists, fetches, applies; /* calls that arrived */
	unsigned at_work;   /* applies that have begun, are not over and are not held */
	unsigned changes;   /* the number of changes in all applies together */
	unsigned syncs;     /* the number of CHANGE_SYNC in all applies together */
	size_t apply_bytes; /* the bytes of contents in the last apply that arrived */
	bool hold_fetches, hold_applies, hold_entries;
	/* the longest a call is held, set before the first; 0: up to the call's own deadline */
	int64_t hasty_ms;
	bool is_ending; /* the cache ends: a call that arrives by then is not held, but times out */
	/* the number of an apply that is let through although applies are held; 0: none */
	unsigned passing;
	/* the number of a held apply that ends as at its deadline; 0: none */
	unsigned timing_out;
	atomic_bool is_cut; /* nothing reaches the provider: every call fails at once */
	enum err refusal;   /* the error of the next change of contents, or of `refused_op` */
	enum change_op refused_op; /* set before the start; 0: contents */
	atomic_bool falls_short;   /* one byte of the contents is missing, which the result says */
	atomic_bool lose_answers; /* the answers of all applies are lost; the changes are applied */
	atomic_uint lose_next;    /* the number of the next applies whose answers are lost */
	/* The limits of one apply: a larger request is refused on the way; 0: any size passes. */
	_Atomic size_t takes_bytes, takes_changes;
	struct foreign_answers gateway; /* the gateway that refuses such a request */
	/* The limit of one apply: a larger one finds no room on the sandbox's disk; 0: no limit. */
	_Atomic size_t room_bytes;
	enum err no_room_as;            /* the error of that, set before; 0: ERR_NO_SPACE */
	_Atomic uint64_t room_reported; /* the free bytes that lists report; 0: the disk's own */
	enum err lost_as;    /* the error of a lost answer, set before; 0: ERR_UNREACHABLE */
	unsigned lose_every; /* one of so many recorded applies loses its answer; 0: none does */
	unsigned recorded;   /* the number of recorded applies that were done */
	atomic_bool tells_no_attrs; /* answers have no attributes of a file: it is gone again */
	/* `hold_applies` holds the answers: the changes are applied when the request arrives */
	bool does_first;
	atomic_bool looks_late; /* answers carry times and sizes of the moment when they leave */
	unsigned items;         /* the number of items fetched so far */
	unsigned change_after;  /* `changing` is written to after so many items; 0: never */
	const char *changing;
	/* the errors of the next fetches, which bring nothing, up to an ERR_OK; or NULL */
	const enum err *fetch_failures;
	unsigned break_after;     /* a fetch fails with ERR_IO after so many items; 0: never */
	bool tells_changes;       /* the provider has a stream of changes: set before the start */
	bool shows_one_time;      /* all times of files are one, which its clock has not passed */
	bool changes_at_one_time; /* answers give every changed directory one time: set before */
	/* an apply waits for up to so many steps of the test, and no longer than 5 ms */
	unsigned late_most;
	unsigned steps;
	/* the number of an apply of one write, of which a copy is kept: set before */
	unsigned copied;
	struct apply_request copy;
	/*
	 * Set before: called by each list that arrives, before the list is done; NULL: nothing
	 * happens.
	 */
	void (*meanwhile)(struct distant *d, const struct list_request *request);
	unsigned page_reports; /* how often the kernel would have been told to forget pages */
};

void distant_start(struct distant *d, bool write_through);
/* distant_start(), with names and attributes valid for 120 s: for tests on a slow machine. */
void distant_start_trusting(struct distant *d);
void distant_stop(struct distant *d);
/* A new cache over the same sandbox, once nothing is open; NULL: contents are kept in memory. */
void distant_remount(struct distant *d, const char *contents_dir);
/* distant_remount() without the wait for the changes that the cache before left. */
void distant_remount_at_once(struct distant *d, const char *contents_dir);

/* A new cache with a journal, which leaves pending changes to the next cache. */
void distant_keep_journal(struct distant *d);
/* Ends the cache in the middle of its work: no call that the end makes is held. */
void distant_break_off(struct distant *d);

/* distant_start() with a stream of changes. */
void distant_start_watched(struct distant *d);
/*
 * Waits until the cache knows that the sandbox's clock has ticked: a file that was changed so far
 * cannot change again within the same time stamp.
 */
void distant_pass_tick(struct distant *d);
/* With a stream of changes: waits until names in the root are decided here. */
void distant_await_deciding(struct distant *d);
/* A change waits `ms` for others from now on, whether or not they follow it closely. */
void distant_gather_for(struct distant *d, int64_t ms);
/* The test takes a step: applies that wait for steps (`late_most`) go on. */
void distant_step(struct distant *d);

void distant_hold_applies(struct distant *d, bool hold);
void distant_hold_fetches(struct distant *d, bool hold);
/* Lists of the entries of directories. */
void distant_hold_entries(struct distant *d, bool hold);
/*
 * Lets through the held apply that arrived as the `number`th, from 1. Returns when the apply has
 * left the gate.
 */
void distant_pass_apply(struct distant *d, unsigned number);
/* Ends the held apply that arrived as the `number`th, as if its deadline had come. */
void distant_time_out_apply(struct distant *d, unsigned number);
/* The copy arrives. Returns the copy's result. */
enum err distant_deliver_copy(struct distant *d);
/* Waits first for an apply that was let through before: the refusal is not for that one. */
void distant_refuse(struct distant *d, enum err kind);
/* Waits until no apply is at work. */
void distant_await_over(struct distant *d);
/* Waits until so many applies, fetches or fetched items have arrived. */
void distant_await_applies(struct distant *d, unsigned count);
void distant_await_lists(struct distant *d, unsigned count);
void distant_await_fetches(struct distant *d, unsigned count);
void distant_await_items(struct distant *d, unsigned count);
/* The number of batches whose answer the cache has; and a wait until there are `count`. */
uint64_t distant_answers(struct distant *d);
void distant_await_answers(struct distant *d, uint64_t count);
unsigned distant_applies(struct distant *d);
size_t distant_apply_bytes(struct distant *d);
unsigned distant_fetches(struct distant *d);
unsigned distant_lists(struct distant *d);
unsigned distant_items(struct distant *d);
unsigned distant_page_reports(struct distant *d);

/*
 * A file made through the cache, open for writing; or an existing one. The caller gives the inode
 * back with distant_close().
 */
struct inode *distant_make(struct distant *d, const char *name);
struct inode *distant_open(struct distant *d, const char *name);
/* distant_open() of a file whose version is known. */
struct inode *distant_open_known(struct distant *d, const char *name);
void distant_close(struct distant *d, struct inode *i);
/* Fails the test where writing does. */
void distant_write(struct distant *d, struct inode *i, uint64_t offset, const char *text);
/* The contents of the file in the sandbox; to be freed. */
char *distant_text(struct distant *d, const char *name);
void distant_expect_text(struct distant *d, const char *name, const char *wanted);
/* Changes that the sandbox refused. */
uint64_t distant_failed(struct distant *d);
uint64_t distant_size(struct distant *d, struct inode *i);

/* The most memory that this process ever had, in KiB; 0 under a sanitizer, which has its own. */
long distant_peak_kb(void);
