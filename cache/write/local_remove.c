/* Names that are removed locally. */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

/* ---- Removing ---- */

void local_show_removed(struct cache *c, struct inode *dir, const char *name, struct inode *target,
	enum change_op op)
{
	tree_unnamed(c->tree, dir, name);
	local_show_links(c, target, -1);
	local_show_dir(c, dir, op == CHANGE_RMDIR ? -1 : 0);
}

/* An open file gets its staging name here. The close of its last handle is handled elsewhere. */
static enum err unlink_locked(struct writeback *p, struct inode *dir, const char *name,
	struct inode *target, struct change *change, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = {
		.scope.inodes = { dir, target }, .target = target, .dir = dir
	};

	writeback_release_locked(p, target);
	change->target = tree_expect(c->tree, target);
	if (change->op == CHANGE_UNLINK)
		change->version = writeback_version_locked(p, target);
	bool keep = change->op == CHANGE_UNLINK && tree_removal_begins(c->tree, target);
	AUTO_FREE char *staged = keep ? remote_staged_name(c) : NULL;
	bool is_cancelled = !keep && writeback_cancel_locked(p, target);
	struct op *q;
	enum err kind = local_check_staged(keep, staged, name, e);

	change->path2 = staged;
	if (!kind && !is_cancelled)
		kind = writeback_add_locked(p, change, &about, &q, e);

	if (!kind && keep) {
		q->moved[0] = target;
		tree_mark_unsynced(c->tree, target, 1);
		tree_staged(c->tree, target, take(staged));
	}
	if (!kind)
		local_show_removed(c, dir, name, target, change->op);
	if (is_cancelled)
		writeback_drop_locked(p, target);
	if (change->op == CHANGE_UNLINK)
		tree_removal_ends(c->tree, target);
	return kind;
}

static enum err remove_locked(struct writeback *p, struct inode *dir, const char *name,
	struct inode *target, enum change_op op, struct error *e)
{
	struct cache *c = p->cache;
	struct change change = { .op = op, .parent = tree_expect(c->tree, dir) };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	enum err kind = local_removal_permission(c, dir, target, name, e);

	if (!kind)
		kind = tree_path(c->tree, dir, name, &path, e);
	change.path = path.text;
	return kind ? kind : unlink_locked(p, dir, name, target, &change, e);
}

/* For a directory all entries must be known, too. */
static bool may_remove(struct cache *c, struct inode *dir, struct inode *target, enum change_op op)
{
	if (!local_may(c, dir))
		return false;
	if (!target)
		return true;
	if (op == CHANGE_RMDIR)
		return local_is_dir(c, target) && local_may(c, target);
	return !local_is_dir(c, target) && local_is_known(c, target);
}

enum err local_remove(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	enum change_op op, bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;

	*decided = local_has_names(c);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);
	struct inode *target = tree_peek(c->tree, dir, name);

	*decided = kind || may_remove(c, dir, target, op);
	if (*decided && !kind && !target)
		kind = error_set(e, ERR_NOT_FOUND, "%s", name);
	if (*decided && !kind && op == CHANGE_RMDIR && !local_is_empty(c, target))
		kind = error_set(e, ERR_NOT_EMPTY, "%s", name);
	if (*decided && !kind)
		kind = remove_locked(p, dir, name, target, op, e);
	pthread_mutex_unlock(&p->lock);
	tree_unpin(c->tree, target);
	return kind;
}

/* ---- At the close ---- */

enum err local_drop_staged(struct cache *c, struct inode *i, char *staged)
{
	const struct change_about about = { .scope.inodes = { i } };
	const struct change change = { .op = CHANGE_UNLINK, .path = staged };
	struct writeback *p = c->writeback;
	struct error e = { 0 };
	struct op *q;

	pthread_mutex_lock(&p->lock);
	if (writeback_cancel_locked(p, i))
		writeback_drop_locked(p, i);
	else if (writeback_add_locked(p, &change, &about, &q, &e))
		cache_note_error(c, staged, &e);
	else
		q->is_unasked = true;
	pthread_mutex_unlock(&p->lock);
	free(staged);
	return e.kind;
}
