/*
 * budget.h - how many bytes a directory of blocks takes, and room made in it.
 *
 * The sum stands in a file that all processes update; whoever finds it locked remembers what to add and does so the next
 * time, so that nobody waits for anybody. It is counted anew whenever room is made. Any function may be called from any
 * thread.
 */
#pragma once

#include "cache/session/stats.h"

struct block_budget;

/* Names of files that are being written begin so: one that nobody came back to is removed with the old. */
#define BLOCK_ASIDE "aside-"

/* `blocks`: the directory, the caller's. Takes `usage`, the file with the sum. `stats` count what is removed. */
enum err block_budget_new(
	struct block_budget **out, int blocks, int usage, struct stats *stats, struct error *e);
void block_budget_free(struct block_budget *b);

/* What a file of `len` bytes takes. */
uint64_t block_budget_cost(uint64_t len);
uint64_t block_budget_used(struct block_budget *b);

/* A file of `len` bytes is going to be written: makes room where there is none. false: there cannot be. */
bool block_budget_take(struct block_budget *b, uint64_t len, uint64_t max);
/* One went, or was not written. */
void block_budget_give(struct block_budget *b, uint64_t len);
