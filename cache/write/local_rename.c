/* Names that are renamed locally. */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/permission.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

/* ---- Renaming ---- */

void local_show_renamed(struct cache *c, const struct local_move *m)
{
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	bool moves_dir = m->dir != m->dir2 && local_is_dir(c, m->moved);
	bool replaces_dir = m->replaced && !exchanges && local_is_dir(c, m->replaced);

	if (exchanges) {
		tree_exchanged(c->tree, m->dir, m->name, m->dir2, m->name2);
		local_show_links(c, m->replaced, 0);
	} else {
		tree_renamed(c->tree, &(struct tree_name){ m->dir, m->name },
			&(struct tree_name){ m->dir2, m->name2 }, m->moved, TREE_HELD);
	}
	local_show_links(c, m->moved, 0);
	if (m->replaced && !exchanges)
		local_show_links(c, m->replaced, -1);
	bool moves_back = exchanges && m->dir != m->dir2 && local_is_dir(c, m->replaced);

	local_show_dir(c, m->dir, moves_back - (moves_dir || (replaces_dir && m->dir == m->dir2)));
	if (m->dir2 != m->dir)
		local_show_dir(c, m->dir2, moves_dir - (moves_back || replaces_dir));
}

/* Whether a directory moves: ops known by a path below it would not find their files again. */
bool local_moves_dir(struct cache *c, const struct local_move *m)
{
	return local_is_dir(c, m->moved) ||
		(m->flags & CHANGE_EXCHANGE && local_is_dir(c, m->replaced));
}

/* A deferred commit has the path of the time when it was made. */
static void release_moved(struct writeback *p, const struct local_move *m)
{
	if (local_moves_dir(p->cache, m))
		writeback_release_all_locked(p);
	writeback_release_locked(p, m->moved);
	if (m->replaced)
		writeback_release_locked(p, m->replaced);
}

struct change_about local_about_move(const struct local_move *m)
{
	return (struct change_about){ .scope.inodes = { m->dir, m->dir2, m->moved, m->replaced },
		.target = m->moved,
		.dir = m->dir,
		.dir2 = m->dir2 };
}

void local_note_moved(struct cache *c, struct op *q, const struct local_move *m)
{
	q->moved[0] = m->moved;
	q->moved[1] = m->replaced;
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_mark_unsynced(c->tree, q->moved[n], 1);
}

static enum err queue_rename_locked(
	struct writeback *p, const struct local_move *m, struct change *change, struct error *e)
{
	const struct change_about about = local_about_move(m);
	struct op *q;
	enum err kind = writeback_add_locked(p, change, &about, &q, e);

	if (kind)
		return kind;
	q->may_replace = change->flags & CHANGE_NOREPLACE && !(m->flags & CHANGE_NOREPLACE);
	q->is_barrier = local_moves_dir(p->cache, m);
	local_note_moved(p->cache, q, m);
	return ERR_OK;
}

static enum err rename_locked(struct writeback *p, const struct local_move *m, struct error *e)
{
	struct cache *c = p->cache;
	struct change change = { .op = CHANGE_RENAME,
		.flags = m->flags,
		.parent = tree_expect(c->tree, m->dir),
		.parent2 = tree_expect(c->tree, m->dir2) };
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	bool replaces = m->replaced && !exchanges;
	AUTO_TREE_PATH struct tree_path path = { 0 };
	AUTO_TREE_PATH struct tree_path path2 = { 0 };
	enum err kind = tree_path(c->tree, m->dir, m->name, &path, e);

	if (!kind)
		kind = tree_path(c->tree, m->dir2, m->name2, &path2, e);
	if (kind)
		return kind;
	release_moved(p, m);
	change.target = tree_expect(c->tree, m->moved);
	bool keep = replaces && tree_removal_begins(c->tree, m->replaced);
	AUTO_FREE char *staged = keep ? remote_staged_name(c) : NULL;

	change.path = path.text;
	change.path2 = path2.text;
	if (m->replaced)
		change.target2 = tree_expect(c->tree, m->replaced);
	change.version = writeback_version_of_file_locked(p, m->moved);
	if (exchanges)
		change.version2 = writeback_version_of_file_locked(p, m->replaced);
	else if (replaces)
		change.version2 = writeback_version_locked(p, m->replaced);
	if (!m->replaced)
		change.flags |= CHANGE_NOREPLACE;
	change.keep = staged;
	kind = local_check_staged(keep, staged, m->name2, e);
	if (!kind)
		kind = queue_rename_locked(p, m, &change, e);
	if (!kind && keep)
		tree_staged(c->tree, m->replaced, take(staged));
	if (!kind)
		local_show_renamed(c, m);
	if (replaces)
		tree_removal_ends(c->tree, m->replaced);
	return kind;
}

/* A directory that gets another parent is written to: its entry for the parent changes. */
static enum err permission_of_new_parents(
	struct cache *c, const struct local_move *m, struct error *e)
{
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	enum err kind = ERR_OK;

	if (m->dir == m->dir2)
		return ERR_OK;
	if (local_is_dir(c, m->moved))
		kind = local_permission(c, m->moved, PERMISSION_WRITE, m->name, e);
	if (!kind && exchanges && local_is_dir(c, m->replaced))
		kind = local_permission(c, m->replaced, PERMISSION_WRITE, m->name2, e);
	return kind;
}

static enum err permission_to_rename(struct cache *c, const struct local_move *m, struct error *e)
{
	enum err kind = local_check_name(m->name2, e);

	if (!kind)
		kind = local_removal_permission(c, m->dir, m->moved, m->name, e);
	if (!kind && m->replaced)
		kind = local_removal_permission(c, m->dir2, m->replaced, m->name2, e);
	else if (!kind)
		kind = local_dir_permission(c, m->dir2, m->name2, e);
	if (kind)
		return kind;
	if (m->flags & CHANGE_NOREPLACE && m->replaced)
		return error_set(e, ERR_EXISTS, "%s", m->name2);
	if (m->replaced && !(m->flags & CHANGE_EXCHANGE) && local_is_dir(c, m->replaced) &&
		!local_is_empty(c, m->replaced))
		return error_set(e, ERR_NOT_EMPTY, "%s", m->name2);
	return permission_of_new_parents(c, m, e);
}

/*
 * A directory is not renamed locally if the sandbox may refuse the rename: because of its layer, or
 * because the directory would be inside itself.
 */
bool local_are_movable(struct cache *c, const struct local_move *m)
{
	return tree_is_movable(c->tree, m->moved, m->dir2) &&
		(!(m->flags & CHANGE_EXCHANGE) || tree_is_movable(c->tree, m->replaced, m->dir));
}

/* The kernel here has checked already that the types go together. */
static bool may_rename(struct cache *c, const struct local_move *m)
{
	if (!local_may(c, m->dir) || !local_may(c, m->dir2) || !m->moved ||
		!local_is_known(c, m->moved))
		return false;
	if (!m->replaced)
		return !(m->flags & CHANGE_EXCHANGE) && local_are_movable(c, m);
	if (!local_are_movable(c, m) || m->moved == m->replaced || !local_is_known(c, m->replaced))
		return false;
	return !local_is_dir(c, m->replaced) || m->flags & CHANGE_EXCHANGE ||
		local_may(c, m->replaced);
}

/* Whether the names still stand for the same inodes as before the wait for the lock. */
static bool is_as_it_was(struct cache *c, const struct local_move *m)
{
	struct inode *moved = tree_peek(c->tree, m->dir, m->name);
	struct inode *replaced = tree_peek(c->tree, m->dir2, m->name2);
	bool is = moved == m->moved && replaced == m->replaced;

	tree_unpin(c->tree, moved);
	tree_unpin(c->tree, replaced);
	return is;
}

static enum err local_moving(struct cache *c, const struct call *call, const struct local_move *m,
	bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;

	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);

	*decided = kind || (is_as_it_was(c, m) && may_rename(c, m));
	if (*decided && !kind)
		kind = permission_to_rename(c, m, e);
	if (*decided && !kind)
		kind = rename_locked(p, m, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/*
 * The move begins before the lock is taken: it waits for requests by path, and these may need the
 * lock.
 */
enum err local_rename(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, uint32_t flags, bool *decided, struct error *e)
{
	*decided = local_has_names(c);
	if (!*decided)
		return ERR_OK;
	const struct local_move m = { .dir = dir,
		.dir2 = dir2,
		.moved = tree_peek(c->tree, dir, name),
		.replaced = tree_peek(c->tree, dir2, name2),
		.name = name,
		.name2 = name2,
		.flags = flags };
	struct inode *exchanged = flags & CHANGE_EXCHANGE ? m.replaced : NULL;

	tree_move_begins(c->tree, m.moved, exchanged);
	enum err kind = local_moving(c, call, &m, decided, e);

	tree_move_ends(c->tree, m.moved, exchanged);
	tree_unpin(c->tree, m.moved);
	tree_unpin(c->tree, m.replaced);
	return kind;
}
