/*
 * observer.h - the observer of the cache, which is fs/, and the reports to it.
 */
#pragma once

#include "providers/verbs.h"

#include <stdbool.h>

struct cache;
struct inode; /* cache/tree/tree.h */

/*
 * The reports of the cache to the kernel's side. They come from any thread, and locks of the cache
 * may be held. So the receiver waits for no request and does not call back: it queues.
 */
struct cache_observer {
	/* The inode's attributes are to be forgotten; `pages`: its contents, too. */
	void (*inode_changed)(void *context, struct inode *inode, bool pages);
	/*
	 * The attributes of cache_delegate_attr() are to be forgotten, before the call that changed
	 * something is answered.
	 */
	void (*inode_revoked)(void *context, struct inode *inode);
	/* The name is to be forgotten. `is_gone`: the sandbox does not have it any more. */
	void (*name_changed)(void *context, struct inode *dir, const char *name, bool is_gone);
	/* Everything that was handed out is invalid: cache_take_outdated() says what that is. */
	void (*all_outdated)(void *context);
	/*
	 * Something in the sandbox was changed there, not through this mount. `kind` and `path` are
	 * as providers/verbs.h has them.
	 */
	void (*changed)(void *context, enum watch_kind kind, const char *path, bool is_dir);
	void *context;
};

/*
 * Sets the observer; NULL: none. When the call returns the former observer is not called any more.
 */
void cache_observe(struct cache *c, const struct cache_observer *observer);

/* Reports to the observer, if there is one. */
void cache_tell_inode(struct cache *c, struct inode *i, bool pages);
void cache_tell_revoked(struct cache *c, struct inode *i);
void cache_tell_name(struct cache *c, struct inode *dir, const char *name, bool is_gone);
void cache_tell_all_outdated(struct cache *c);
/* Reports a change that the sandbox reported and that was not made here. */
void cache_tell_changed(struct cache *c, enum watch_kind kind, const char *path, bool is_dir);
