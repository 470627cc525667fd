/*
 * metadata.h - names and attributes, read through the tree.
 *
 * A question is answered from the tree while the answer there is valid; else it is one list call.
 * Locks and threads: cache/cache.h.
 */
#pragma once

#include "cache/cache.h"
#include "cache/lease/entries.h"
#include "cache/lease/hand_out.h"
#include "cache/tree/tree.h"

struct inode *cache_root(struct cache *c);
void cache_forget(struct cache *c, struct inode *i, uint64_t count);
/* Between these two calls the inode stays, also where the kernel forgets it. */
void cache_keep(struct cache *c, struct inode *i);
void cache_let_go(struct cache *c, struct inode *i);

/*
 * Takes attributes and names that were handed out and are outdated (cache_observer.all_outdated).
 * Each is returned once, unless its time is over. false: there are no more.
 */
bool cache_take_outdated(struct cache *c, struct tree_outdated *out, size_t room, size_t *count);
/* Whether `dir`, which may have been forgotten, has no such name, so far as is known. */
bool cache_is_nameless(struct cache *c, const struct inode *dir, const char *name);

/* ERR_NOT_FOUND: *negative_ms says how long the negative entry is valid. */
enum err cache_lookup(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct cache_entry *out, int64_t *negative_ms, struct error *e);

/* The attributes of the root, where the sandbox is offline, are the last ones known. */
enum err cache_attr(struct cache *c, const struct call *call, struct inode *i, struct attr *out,
	int64_t *valid_ms, struct error *e);

/*
 * As cache_attr(), for a receiver that drops the answer where cache_observer.inode_revoked comes
 * first. Here attributes that are shown ahead of the sandbox are valid for longer than now, too.
 * inode_revoked reports when that is over.
 */
enum err cache_delegate_attr(struct cache *c, const struct call *call, struct inode *i,
	struct attr *out, int64_t *valid_ms, struct error *e);

/*
 * The ctime that is shown of `i` where *attr, from one of the two above, has the sandbox's:
 * cache/tree/tree.h.
 */
struct timespec cache_shown_ctime(struct cache *c, struct inode *i, const struct attr *attr);

/*
 * The text of a link as the sandbox has it (VERB_LINK_MAX). *is_ours: the text was written through
 * this mount.
 */
enum err cache_readlink(struct cache *c, const struct call *call, struct inode *i,
	char out[VERB_LINK_MAX + 1], bool *is_ours, struct error *e);

/* As cache_readlink(), from memory. false: the text is not known. */
bool cache_link_known(struct cache *c, struct inode *i, char out[VERB_LINK_MAX + 1], bool *is_ours);

/* As the functions of the tree with the same names (cache/tree/tree.h). */
struct tree_depth cache_depth_in(struct cache *c, const struct inode *dir);
void cache_climbs(struct cache *c);
int64_t cache_move_answer_waits(struct cache *c);
void cache_move_answered(struct cache *c);
uint64_t cache_seen(struct cache *c);
bool cache_has_risen(struct cache *c, const struct inode *dir, uint64_t since);

/*
 * Hands out a listed entry and takes a kernel reference. false, and no reference: the name means
 * something else by now, or is not valid any more.
 */
bool cache_listed_entry(struct cache *c, struct inode *dir, const struct tree_entry *listed,
	struct cache_entry *out);

/* The user.* attributes: the value of `name`, or with NULL all names, each ended by a NUL. */
enum err cache_xattr(struct cache *c, const struct call *call, struct inode *i, const char *name,
	struct buf *out, struct error *e);

/* The known attributes of a listed entry, valid or not. The sandbox is not asked. */
void cache_known_attr(struct cache *c, struct inode *i, struct attr *out);
/*
 * The attributes for "." and "..": of the directory and of the one above it (the root itself at the
 * root). The sandbox is not asked.
 */
void cache_dot_attrs(struct cache *c, struct inode *dir, struct attr *self, struct attr *above);
