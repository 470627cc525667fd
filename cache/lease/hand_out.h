/*
 * hand_out.h - inodes that are given to the kernel.
 */
#pragma once

#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

/* An inode handed out: one kernel reference, to be given back with cache_forget(). */
struct cache_entry {
	struct inode *inode;
	struct attr attr;
	int64_t valid_ms;      /* how much longer the attributes may be believed */
	int64_t name_valid_ms; /* and the name */
	bool is_made;          /* just now, by cache_make() */
	/* Where it was looked up or made; the strings of who asked. NULL: a file without a name. */
	struct inode *dir;
	const char *name;
	bool link_is_ours; /* a symbolic link, which was given this name through this mount */
};

/* Fills *out and takes a kernel reference. The caller holds a pin. `dir` NULL: without a name. */
void cache_hand_out(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);
/* The same of what was just made here, and is shown as it will be: what it is may be asked at once. */
void cache_hand_out_made(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);
