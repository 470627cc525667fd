/*
 * budget.h - how many bytes a directory of blocks takes, and room made in it.
 *
 * The sum is in a file that all processes update. A process that finds it locked remembers what to
 * add, and adds it the next time, so that no process waits for another. The sum is counted anew
 * whenever room is made. Any function may be called from any thread.
 */
#pragma once

#include "cache/session/stats.h"

struct block_budget;

/*
 * The prefix of files that are being written. One that its writer left behind is removed with the
 * old blocks.
 */
#define BLOCK_ASIDE "aside-"

/*
 * `blocks`: the directory, the caller's. Takes `usage`, the file with the sum. `stats` count the
 * blocks that are removed.
 */
enum err block_budget_new(
	struct block_budget **out, int blocks, int usage, struct stats *stats, struct error *e);
void block_budget_free(struct block_budget *b);

/* The bytes that a file of `len` bytes takes on the disk. */
uint64_t block_budget_cost(uint64_t len);
uint64_t block_budget_used(struct block_budget *b);

/*
 * Called before a file of `len` bytes is written: makes room where there is none. false: there
 * cannot be.
 */
bool block_budget_take(struct block_budget *b, uint64_t len, uint64_t max);
/* A file was removed, or was not written. */
void block_budget_give(struct block_budget *b, uint64_t len);
