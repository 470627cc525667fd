/* Attributes that are set locally. */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/permission.h"
#include "cache/write/room.h"
#include "cache/write/writeback.h"

#include <sys/stat.h>

/* ---- Attributes ---- */

/* The sandbox's file system may refuse a larger file, and then the call should report that. */
#define SIZE_MAX_DECIDED ((uint64_t)1 << 40)

/* Through a handle for writing the owner may resize, whatever has become of the mode since. */
static bool may_resize(struct cache *c, struct inode *i, const struct change *what)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	if (!S_ISREG(attr.mode) || what->size > SIZE_MAX_DECIDED || !tree_size_is_true(c->tree, i))
		return false;
	/*
	 * A call by path that sets the present size may leave the times as they are: the sandbox's
	 * file system decides.
	 */
	if (!(what->flags & CHANGE_BY_HANDLE) && !(what->set & SET_MTIME) &&
		what->size == attr.size)
		return false;
	return permission_allows(&c->sandbox.identity, &attr, PERMISSION_WRITE) ||
		(what->flags & CHANGE_BY_HANDLE && local_is_owner(c, i));
}

/* Every file system keeps seconds of 32 bits. Most cut other times to a range of their own. */
static bool is_kept(struct timespec t)
{
	return t.tv_nsec == UTIME_NOW || (t.tv_sec > INT32_MIN && t.tv_sec < INT32_MAX);
}

static bool are_times_kept(const struct change *what)
{
	return (!(what->set & SET_ATIME) || is_kept(what->atime)) &&
		(!(what->set & SET_MTIME) || is_kept(what->mtime));
}

static bool may_set(struct cache *c, struct inode *i, const struct change *what)
{
	bool is_root = c->sandbox.identity.uid == 0;
	struct attr attr;

	if (!local_is_known(c, i) || !are_times_kept(what) ||
		(what->set & SET_SIZE && !may_resize(c, i, what)))
		return false;
	tree_attr(c->tree, i, &attr);
	if (S_ISLNK(attr.mode) || what->set & (SET_UID | SET_GID))
		return is_root;
	return !(what->set & (SET_MODE | SET_ATIME | SET_MTIME)) || local_is_owner(c, i);
}

/* Whether an open file is emptied: the writes that follow are then all of its contents. */
static bool begins_anew(struct cache *c, struct inode *i, const struct change *what)
{
	return what->set & SET_SIZE && !what->size && what->flags & CHANGE_BY_HANDLE &&
		tree_is_open(c->tree, i);
}

/*
 * A file that the sandbox does not have is made as the tree shows it: an owner or a mode that is
 * shown already need not be set.
 */
static bool is_so_already(struct cache *c, struct inode *i, const struct change *what)
{
	struct attr attr;

	if (!what->set || what->set & ~(uint32_t)(SET_MODE | SET_UID | SET_GID) ||
		!tree_is_provisional(c->tree, i) || !i->pending || !i->pending->in_queue)
		return false;
	tree_attr(c->tree, i, &attr);
	if (what->set & (SET_UID | SET_GID) && attr.mode & (S_ISUID | S_ISGID))
		return false;
	return (!(what->set & SET_MODE) || (what->mode & 07777) == (attr.mode & 07777)) &&
		(!(what->set & SET_UID) || what->uid == attr.uid) &&
		(!(what->set & SET_GID) || what->gid == attr.gid);
}

static enum err set_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e)
{
	struct tree *t = p->cache->tree;
	struct tree_local_effect touch = { .keeps_mtime = true, .set = change };

	if (!is_so_already(p->cache, i, change))
		return writeback_set_locked(p, i, change, e);
	touch.now = cache_time_of_change(p->cache);
	tree_apply_local(t, i, &touch);
	return ERR_OK;
}

enum err local_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;
	struct change change = *what;

	*decided = local_anything(c);
	if (!*decided)
		return ERR_OK;
	/* On a disk without room for both copies the file is emptied, and written where it is. */
	bool is_staged = begins_anew(c, i, what) && room_for_copy(c, call, i);

	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);

	*decided = kind || may_set(c, i, what);
	if (*decided && !kind && is_staged)
		kind = writeback_stage_over_locked(p, i, e);
	if (*decided && !kind)
		kind = set_locked(p, i, &change, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}
