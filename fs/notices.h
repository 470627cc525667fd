/*
 * notices.h - a queue of notices to the kernel, in order, each once.
 *
 * The queue has at most one notice for an inode, one for a name and one for the whole tree. A
 * second one would add nothing while the first is unsent. Not for several threads.
 */
#pragma once

#include "fs/lowlevel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum notice_kind {
	NOTICE_INODE, /* the attributes of `ino` */
	NOTICE_NAME,  /* `name` in the directory `ino` */
	NOTICE_ALL,   /* everything that became invalid */
	NOTICE_POLL,  /* a waiting poll(2), which is woken */
};

struct notice {
	enum notice_kind kind;
	fuse_ino_t ino;
	bool pages;   /* NOTICE_INODE: contents, too */
	bool is_gone; /* NOTICE_NAME: the name does not exist any more */
	char *name;   /* NOTICE_NAME; the queue frees it */
	struct fuse_pollhandle *poll;
};

struct notices {
	struct notice *all;
	size_t len, room;
	uint32_t *slots; /* a hash table of places in `all`, from 1 on; 0: free */
	size_t slots_room;
};

/* Takes notice->name and notice->poll. false: no memory, and nothing was queued. */
bool notices_add(struct notices *q, const struct notice *notice, bool *is_new);
/* The notices that are left unsent are dropped. */
void notices_release(struct notices *q);
