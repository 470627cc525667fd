/*
 * observer.h - who observes the cache, which is fs/, and the reports to it.
 */
#pragma once

#include "providers/verbs.h"

#include <stdbool.h>

struct cache;
struct inode; /* cache/tree/tree.h */

/*
 * What the cache tells the kernel's view of it, from any thread: the receiver waits for no request and does not call back,
 * since locks of the cache may be held: it queues.
 */
struct cache_observer {
	/* Forget attributes; `pages`: contents too. `ino` is what the inode was handed out as. */
	void (*inode_changed)(void *context, struct inode *inode, bool pages);
	/* Likewise the attributes of cache_delegate_attr(): they are to be forgotten before whoever changed something is answered. */
	void (*inode_revoked)(void *context, struct inode *inode);
	/* Forget the name. `is_gone`: the sandbox does not have it any more. */
	void (*name_changed)(void *context, struct inode *dir, const char *name, bool is_gone);
	/* Everything that was handed out is in doubt: cache_take_outdated() says what that is. */
	void (*all_outdated)(void *context);
	/* Somebody else changed something in the sandbox; `kind` and `path` as providers/verbs.h has them. */
	void (*changed)(void *context, enum watch_kind kind, const char *path, bool is_dir);
	void *context;
};

/* NULL: nobody. When it returns the one before is not called any more. */
void cache_observe(struct cache *c, const struct cache_observer *observer);

/* Reports to the observer, if there is one. */
void cache_tell_inode(struct cache *c, struct inode *i, bool pages);
void cache_tell_revoked(struct cache *c, struct inode *i);
void cache_tell_name(struct cache *c, struct inode *dir, const char *name, bool is_gone);
void cache_tell_all_outdated(struct cache *c);
/* Of a change that the sandbox told of and that was not made here. */
void cache_tell_changed(struct cache *c, enum watch_kind kind, const char *path, bool is_dir);
