/*
 * chance.h - numbers that a seed decides (xorshift64*), and counters that several processes add to.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct chance {
	uint64_t state; /* never 0 */
};

static inline struct chance chance_of(uint64_t seed)
{
	return (struct chance){ (seed + 1) * 0x9e3779b97f4a7c15u | 1 };
}

static inline uint64_t chance_any(struct chance *c)
{
	c->state ^= c->state >> 12;
	c->state ^= c->state << 25;
	c->state ^= c->state >> 27;
	return c->state * 0x2545f4914f6cdd1du >> 16;
}

/* A number below `end`. */
static inline uint64_t chance_below(struct chance *c, uint64_t end)
{
	return chance_any(c) % end;
}

/* True once in `times`, on average. */
static inline bool chance_once_in(struct chance *c, uint64_t times)
{
	return chance_below(c, times) == 0;
}

/* The counters in the shared file; tests/hostile/helper.py names them in this order. */
enum counted {
	COUNT_FRAMES,   /* all frames of answers */
	COUNT_RECORDS,  /* the records in the answers, without the events of a storm */
	COUNT_LIES,     /* records that differ from the helper's */
	COUNT_EVENTS,   /* events of storms */
	COUNT_ENDLESS,  /* entries of lists without an end */
	COUNT_COMMANDS, /* answers to commands */
	COUNT_BROKEN,   /* streams that were broken */
	COUNT_STARTS,   /* helpers that were started */
	COUNT_RINGS,    /* answers that would close a ring of directories */
	COUNTS
};
