/*
 * stats.h - what the cache counts of its work, for `.sandbox/stats`.
 *
 * All counters only grow, from zero at the mount on. Any function may be called from any thread.
 * None takes a lock, so that a reader may miss counts that are being added. A struct stats may be
 * NULL: nothing is counted.
 */
#pragma once

#include "providers/base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* counter, its name after "sandboxfs_", the thing counted */
#define STATS_COUNTER_ROWS(X)                                                                      \
	X(BLOCK_HITS, "block_hits_total", "Blocks of contents that were found on the local disk.") \
	X(BLOCK_MISSES, "block_misses_total",                                                      \
		"Blocks of contents that were looked for on the local disk in vain.")              \
	X(BLOCKS_KEPT, "blocks_kept_total", "Blocks of contents that were put on the local disk.") \
	X(BLOCKS_EVICTED, "blocks_evicted_total", "Blocks that were removed to keep the budget.")  \
	X(BLOCKS_BAD, "blocks_bad_total",                                                          \
		"Blocks that were damaged on the local disk, and removed.")                        \
	X(BULK_FILES, "bulk_files_total", "Small files that were fetched together with others.")   \
	X(BULK_USED, "bulk_used_total", "Those of them that were read afterwards.")                \
	X(AUDITS, "audits_total",                                                                  \
		"Times that all metadata in doubt was compared with the sandbox.")                 \
	X(EVENTS, "events_total", "Changes that the sandbox told of.")                             \
	X(FOREIGN_EVENTS, "foreign_events_total",                                                  \
		"Those of them that were not made through this mount.")                            \
	X(STREAMS_LOST, "streams_lost_total", "Times that the stream of changes broke off.")

enum stats_counter {
#define X(counter, name, help) STATS_##counter,
	STATS_COUNTER_ROWS(X)
#undef X
		STATS_COUNTERS, /* the number of counters */
};

/* The verbs of the provider that the cache uses, by their names in labels. */
#define STATS_VERB_ROWS(X)                                                                         \
	X(LIST, "list")                                                                            \
	X(FETCH, "fetch")                                                                          \
	X(APPLY, "apply")                                                                          \
	X(EXECUTE, "execute")                                                                      \
	X(INFO, "info")                                                                            \
	X(EXTEND, "extend")

enum stats_verb {
#define X(verb, label) STATS_##verb,
	STATS_VERB_ROWS(X)
#undef X
		STATS_VERBS,
};

/* The number of outcomes: one for each kind of error. ERR_OK is the first. */
#define STATS_OUTCOMES (ERR_OVERFLOW + 1)
#define STATS_BUCKETS  16 /* for the durations of calls: stats_bound_ms() */

/* The counts of one verb. */
struct stats_calls {
	_Atomic uint64_t outcomes[STATS_OUTCOMES];
	_Atomic uint64_t buckets[STATS_BUCKETS]; /* not cumulative: each call is in one */
	_Atomic uint64_t time_us;                /* the sum of the durations */
	_Atomic uint64_t sent, received;         /* bytes of contents, commands and output */
};

struct stats {
	_Atomic uint64_t counters[STATS_COUNTERS];
	struct stats_calls calls[STATS_VERBS];
};

void stats_add(struct stats *s, enum stats_counter counter, uint64_t count);
/* Counts a call that came to its end. */
void stats_add_call(struct stats *s, enum stats_verb verb, enum err outcome, int64_t time_us);
void stats_add_sent(struct stats *s, enum stats_verb verb, uint64_t bytes);
void stats_add_received(struct stats *s, enum stats_verb verb, uint64_t bytes);

/* The words of the rows above; for outcomes there is error_name(). */
const char *stats_counter_name(enum stats_counter counter);
const char *stats_counter_help(enum stats_counter counter);
const char *stats_verb_name(enum stats_verb verb);
/* The longest duration of a call in this bucket, in milliseconds; -1: the last has no bound. */
int64_t stats_bound_ms(size_t bucket);
