/*
 * distant.h - a provider that does what the helper does in a scratch directory, and lets a test
 * decide when.
 *
 * It counts calls and holds them at a gate. Waits have deadlines: a call's own while it is held,
 * 120 s both.
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
	struct scratch journal; /* where changes are kept from one cache to the next, if they are */
	bool keeps_journal;
	struct root root;
	struct cache *cache;
	int64_t progress_ms;    /* of the cache's own deadlines, before it is made; 0: 120 s */
	int64_t belief_ms;      /* what was heard is believed so long; -1: as long as usual */
	_Atomic int64_t now_ms; /* the cache's clock, which stands still */
	struct clocks clocks;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	unsigned lists, fetches, applies; /* calls that arrived */
	unsigned at_work;   /* applies that have begun, are not over and are not held */
	unsigned changes;   /* in all applies together */
	unsigned syncs;     /* CHANGE_SYNC among them, likewise */
	size_t apply_bytes; /* of contents in the last apply that arrived */
	bool hold_fetches, hold_applies;
	/* so long a call is held at most, set before the first; 0: to its own deadline */
	int64_t hasty_ms;
	bool is_ending; /* the cache ends: a call that arrives by then is not held, but times out */
	unsigned
		/* the number of an apply that is let through though they are held; 0: none */
		passing;
	unsigned timing_out;       /* likewise: of one that ends as at its deadline; 0: none */
	atomic_bool is_cut;        /* nothing reaches it: every call fails at once */
	enum err refusal;          /* of the next change of contents, or of `refused_op` */
	enum change_op refused_op; /* set before; 0: contents */
	atomic_bool falls_short;   /* of contents a byte is missing, which the result says */
	atomic_bool lose_answers;  /* of applies, which are done */
	atomic_uint lose_next;     /* of so many of them, from the next one on */
	/* In an apply: more is refused on the way; 0: any. */
	_Atomic size_t takes_bytes, takes_changes;
	struct foreign_answers gateway; /* what refuses it */
	/* In an apply: a request with more finds no room on the sandbox's disk; 0: any does. */
	_Atomic size_t room_bytes;
	enum err no_room_as;            /* set before; 0: ERR_NO_SPACE */
	_Atomic uint64_t room_reported; /* lists tell so many free bytes; 0: what there are */
	enum err lost_as;               /* how that is told, set before; 0: ERR_UNREACHABLE */
	unsigned lose_every;            /* likewise of every so many that are recorded; 0: never */
	unsigned recorded;              /* of those that were done */
	atomic_bool tells_no_attrs; /* answers do not say what became of a file: it is gone again */
	/* what holds applies holds their answers: they are done when they arrive */
	bool does_first;
	atomic_bool looks_late; /* answers tell times and sizes of the moment when they leave */
	unsigned items;         /* fetched so far */
	unsigned change_after;  /* so many items, `changing` is written to; 0: never */
	const char *changing;
	const enum err *
		/* how the next fetches end, which tell nothing, up to an ERR_OK; or NULL */
		fetch_failures;
	unsigned break_after;     /* so many items, a fetch fails with ERR_IO; 0: never */
	bool tells_changes;       /* it has a stream of changes: set before the start */
	bool shows_one_time;      /* all times of files are one, which its clock has not passed */
	bool changes_at_one_time; /* all directories that it changes say so: set before */
	unsigned
		/* an apply waits for up to so many steps of the test, and no longer than 5 ms */
		late_most;
	unsigned steps;
	unsigned
		/* the number of an apply of one write, of which a copy is kept: set before */
		copied;
	struct apply_request copy;
	/*
	 * Set before: called by each list that arrives, before it is done; NULL: nothing happens.
	 */
	void (*meanwhile)(struct distant *d, const struct list_request *request);
	unsigned page_reports; /* how often the kernel would have been told to forget pages */
};

void distant_start(struct distant *d, bool write_through);
/* The same, and what was heard is believed for 120 s: for tests that count on a slow machine. */
void distant_start_trusting(struct distant *d);
void distant_stop(struct distant *d);
/* A new cache over the same sandbox, once nothing is open; NULL: contents are kept in memory. */
void distant_remount(struct distant *d, const char *contents_dir);
/* The same, and does not wait for the changes that the cache before left. */
void distant_remount_at_once(struct distant *d, const char *contents_dir);

/* A new cache, which leaves what was not sent to the next one. */
void distant_keep_journal(struct distant *d);
/* Ends the cache in the middle of its work: no call that the end makes is held. */
void distant_break_off(struct distant *d);

/* As distant_start(), and it tells of changes. */
void distant_start_watched(struct distant *d);
/*
 * Until the cache knows the sandbox's clock to be so far on that nothing that was changed so far
 * can change again within the same time stamp.
 */
void distant_pass_tick(struct distant *d);
/* Where it tells of changes: until names in the root are decided here. */
void distant_await_deciding(struct distant *d);
/* So long a change waits for others from now on, whether or not they follow it closely. */
void distant_gather_for(struct distant *d, int64_t ms);
/* The test does something: what waits for that to arrive late goes on. */
void distant_step(struct distant *d);

void distant_hold_applies(struct distant *d, bool hold);
void distant_hold_fetches(struct distant *d, bool hold);
/* Lets through the one that arrived as the `number`th, from 1, and is held: it has passed then. */
void distant_pass_apply(struct distant *d, unsigned number);
/* Ends the one that arrived as the `number`th and is held, as if its deadline had come. */
void distant_time_out_apply(struct distant *d, unsigned number);
/* The copy arrives: how that ends. */
enum err distant_deliver_copy(struct distant *d);
/* An apply that was let through before is over first: the next refusal is none of its. */
void distant_refuse(struct distant *d, enum err kind);
/* Until so many applies, fetches or items of these have arrived. */
void distant_await_applies(struct distant *d, unsigned count);
void distant_await_fetches(struct distant *d, unsigned count);
void distant_await_items(struct distant *d, unsigned count);
/* How many batches the cache saw answered, and until they are so many. */
uint64_t distant_answers(struct distant *d);
void distant_await_answers(struct distant *d, uint64_t count);
unsigned distant_applies(struct distant *d);
size_t distant_apply_bytes(struct distant *d);
unsigned distant_fetches(struct distant *d);
unsigned distant_lists(struct distant *d);
unsigned distant_items(struct distant *d);
unsigned distant_page_reports(struct distant *d);

/*
 * A file made through the cache, open for writing; or one that is there. Back with distant_close().
 */
struct inode *distant_make(struct distant *d, const char *name);
struct inode *distant_open(struct distant *d, const char *name);
/* The same, and its version is known. */
struct inode *distant_open_known(struct distant *d, const char *name);
void distant_close(struct distant *d, struct inode *i);
/* Fails the test where writing does. */
void distant_write(struct distant *d, struct inode *i, uint64_t offset, const char *text);
/* What is in the sandbox by now; to be freed. */
char *distant_text(struct distant *d, const char *name);
void distant_expect_text(struct distant *d, const char *name, const char *wanted);
/* Changes that the sandbox refused. */
uint64_t distant_failed(struct distant *d);
uint64_t distant_size(struct distant *d, struct inode *i);

/* The most memory that this process ever had, in KiB; 0 under a sanitizer, which has its own. */
long distant_peak_kb(void);
