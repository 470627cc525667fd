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
	int64_t valid_ms;      /* how much longer the attributes are valid */
	int64_t name_valid_ms; /* how much longer the name is valid */
	bool is_made;          /* made just now, by cache_make() */
	/*
	 * Where the inode was looked up or made. The strings belong to the caller. NULL: a file
	 * without a name.
	 */
	struct inode *dir;
	const char *name;
	bool link_is_ours; /* a symbolic link that was given this name through this mount */
};

/* Fills *out and takes a kernel reference. The caller holds a pin. `dir` NULL: without a name. */
void cache_hand_out(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);
/*
 * As cache_hand_out(), for an inode that was just made here, which is shown as the sandbox will
 * have it: the maker may ask for its attributes at once.
 */
void cache_hand_out_made(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out);
