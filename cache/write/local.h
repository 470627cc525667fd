/*
 * local.h - changes that are decided here, without asking the sandbox.
 *
 * A change can be local where everything that it depends on is known, under a live change stream.
 * Each function says so in *decided. false: nothing was done, and the caller makes a remote change.
 * A local change is in the journal and shown by the tree. Its error, if any, is final.
 */
#pragma once

#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"

#include "providers/base/call.h"

enum err local_make(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	const struct create_args *m, struct cache_entry *out, bool *decided, struct error *e);
/*
 * Called before a change that is local only while names and attributes are valid: makes them valid
 * again where the lease was lost, as a lookup does. The error is the call's.
 */
enum err local_restore(struct cache *c, const struct call *call, struct error *e);
/* Whether names in `dir` cannot be changed locally only because its entries are not listed. */
bool local_wants_entries(struct cache *c, struct inode *dir);
enum err local_link(struct cache *c, const struct call *call, struct inode *i, struct inode *dir,
	const char *name, struct cache_entry *out, bool *decided, struct error *e);
/* `op`: CHANGE_UNLINK or CHANGE_RMDIR. */
enum err local_remove(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	enum change_op op, bool *decided, struct error *e);
enum err local_rename(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, uint32_t flags, bool *decided, struct error *e);
enum err local_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool *decided, struct error *e);
/* The arguments of cache_copy(). */
struct copying {
	struct inode *from, *to;
	uint64_t offset, offset2, len;
};

enum err local_copy(struct cache *c, const struct call *call, const struct copying *what,
	uint64_t *copied, bool *decided, struct error *e);
/* The last handle of a file without a name was closed. Takes `staged`. */
enum err local_drop_staged(struct cache *c, struct inode *i, char *staged);
