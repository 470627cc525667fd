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

/* Below `end`. */
static inline uint64_t chance_below(struct chance *c, uint64_t end)
{
	return chance_any(c) % end;
}

/* Once in `times`, on the average. */
static inline bool chance_once_in(struct chance *c, uint64_t times)
{
	return chance_below(c, times) == 0;
}

/* What was sent, in the file that counts; tests/hostile/helper.py names them in this order. */
enum counted {
	COUNT_FRAMES,   /* all frames of answers */
	COUNT_RECORDS,  /* the records in them that are not events of a storm */
	COUNT_LIES,     /* those that are not what the helper said */
	COUNT_EVENTS,   /* of storms */
	COUNT_ENDLESS,  /* entries of lists without an end */
	COUNT_COMMANDS, /* answers to commands */
	COUNT_BROKEN,   /* streams that were broken */
	COUNT_STARTS,   /* helpers that were started */
	COUNT_RINGS,    /* answers that would close a ring of directories */
	COUNTS
};
