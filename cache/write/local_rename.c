/* Names that are moved here. */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/permission.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

/* ---- Renaming ---- */

struct moving {
	struct inode *dir, *dir2, *moved,
		*replaced; /* the latter two pinned; NULL: nothing is there */
	const char *name, *name2;
	uint32_t flags;
};

static void show_renamed(struct cache *c, const struct moving *m)
{
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	bool moves_dir = m->dir != m->dir2 && decide_is_dir(c, m->moved);
	bool replaces_dir = m->replaced && !exchanges && decide_is_dir(c, m->replaced);

	if (exchanges) {
		tree_exchanged(c->tree, m->dir, m->name, m->dir2, m->name2);
		decide_show_links(c, m->replaced, 0);
	} else {
		tree_renamed(c->tree, &(struct tree_name){ m->dir, m->name },
			&(struct tree_name){ m->dir2, m->name2 }, m->moved, TREE_HELD);
	}
	decide_show_links(c, m->moved, 0);
	if (m->replaced && !exchanges)
		decide_show_links(c, m->replaced, -1);
	bool moves_back = exchanges && m->dir != m->dir2 && decide_is_dir(c, m->replaced);

	decide_show_dir(c, m->dir, moves_back - (moves_dir || (replaces_dir && m->dir == m->dir2)));
	if (m->dir2 != m->dir)
		decide_show_dir(c, m->dir2, moves_dir - (moves_back || replaces_dir));
}

/* What is known by its path does not find it again. */
static bool moves_dir(struct cache *c, const struct moving *m)
{
	return decide_is_dir(c, m->moved) ||
		(m->flags & CHANGE_EXCHANGE && decide_is_dir(c, m->replaced));
}

/* What is held back has its place where it was when it was made. */
static void release_moved(struct pending *p, const struct moving *m)
{
	if (moves_dir(p->cache, m))
		pending_release_all_locked(p);
	pending_release_locked(p, m->moved);
	if (m->replaced)
		pending_release_locked(p, m->replaced);
}

static enum err queue_rename_locked(
	struct pending *p, const struct moving *m, struct change *change, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = { .scope.inodes = { m->dir, m->dir2, m->moved,
						    m->replaced },
		.target = m->moved,
		.dir = m->dir,
		.dir2 = m->dir2 };
	struct queued *q;
	enum err kind = pending_add_locked(p, change, &about, &q, e);

	if (kind)
		return kind;
	q->moved[0] = m->moved;
	q->moved[1] = m->replaced;
	q->may_replace = change->flags & CHANGE_NOREPLACE && !(m->flags & CHANGE_NOREPLACE);
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_owe_name(c->tree, q->moved[n], 1);
	q->is_wall = moves_dir(c, m);
	return ERR_OK;
}

static enum err rename_locked(struct pending *p, const struct moving *m, struct error *e)
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
	AUTO_FREE char *staged = keep ? changes_staged_name(c) : NULL;

	change.path = path.text;
	change.path2 = path2.text;
	if (m->replaced)
		change.target2 = tree_expect(c->tree, m->replaced);
	change.version = pending_version_of_file_locked(p, m->moved);
	if (exchanges)
		change.version2 = pending_version_of_file_locked(p, m->replaced);
	else if (replaces)
		change.version2 = pending_version_locked(p, m->replaced);
	if (!m->replaced)
		change.flags |= CHANGE_NOREPLACE;
	change.keep = staged;
	kind = decide_check_staged(keep, staged, m->name2, e);
	if (!kind)
		kind = queue_rename_locked(p, m, &change, e);
	if (!kind && keep)
		tree_staged(c->tree, m->replaced, take(staged));
	if (!kind)
		show_renamed(c, m);
	if (replaces)
		tree_removal_ends(c->tree, m->replaced);
	return kind;
}

/* A directory that gets another parent is written to: it has an entry for that. */
static enum err judge_new_parents(struct cache *c, const struct moving *m, struct error *e)
{
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	enum err kind = ERR_OK;

	if (m->dir == m->dir2)
		return ERR_OK;
	if (decide_is_dir(c, m->moved))
		kind = decide_judge(c, m->moved, JUDGE_WRITE, m->name, e);
	if (!kind && exchanges && decide_is_dir(c, m->replaced))
		kind = decide_judge(c, m->replaced, JUDGE_WRITE, m->name2, e);
	return kind;
}

static enum err judge_rename(struct cache *c, const struct moving *m, struct error *e)
{
	enum err kind = decide_check_name(m->name2, e);

	if (!kind)
		kind = decide_judge_removal(c, m->dir, m->moved, m->name, e);
	if (!kind && m->replaced)
		kind = decide_judge_removal(c, m->dir2, m->replaced, m->name2, e);
	else if (!kind)
		kind = decide_judge_dir(c, m->dir2, m->name2, e);
	if (kind)
		return kind;
	if (m->flags & CHANGE_NOREPLACE && m->replaced)
		return error_set(e, ERR_EXISTS, "%s", m->name2);
	if (m->replaced && !(m->flags & CHANGE_EXCHANGE) && decide_is_dir(c, m->replaced) &&
		!decide_is_empty(c, m->replaced))
		return error_set(e, ERR_NOT_EMPTY, "%s", m->name2);
	return judge_new_parents(c, m, e);
}

/*
 * A directory that the sandbox may refuse to rename, for the layer that it is of or because it would
 * be in itself, is not renamed here.
 */
static bool are_movable(struct cache *c, const struct moving *m)
{
	return tree_is_movable(c->tree, m->moved, m->dir2) &&
		(!(m->flags & CHANGE_EXCHANGE) || tree_is_movable(c->tree, m->replaced, m->dir));
}

/* The kernel has checked already what goes with what. */
static bool may_rename(struct cache *c, const struct moving *m)
{
	if (!decide_may(c, m->dir) || !decide_may(c, m->dir2) || !m->moved ||
		!decide_is_known(c, m->moved))
		return false;
	if (!m->replaced)
		return !(m->flags & CHANGE_EXCHANGE) && are_movable(c, m);
	if (!are_movable(c, m) || m->moved == m->replaced || !decide_is_known(c, m->replaced))
		return false;
	return !decide_is_dir(c, m->replaced) || m->flags & CHANGE_EXCHANGE ||
		decide_may(c, m->replaced);
}

/* Whether the names stand for what they stood for before it was our turn. */
static bool is_as_it_was(struct cache *c, const struct moving *m)
{
	struct inode *moved = tree_peek(c->tree, m->dir, m->name);
	struct inode *replaced = tree_peek(c->tree, m->dir2, m->name2);
	bool is = moved == m->moved && replaced == m->replaced;

	tree_unpin(c->tree, moved);
	tree_unpin(c->tree, replaced);
	return is;
}

static enum err decide_moving(struct cache *c, const struct call *call, const struct moving *m,
	bool *decided, struct error *e)
{
	struct pending *p = c->pending;

	pthread_mutex_lock(&p->lock);
	enum err kind = pending_room_locked(p, call, 0, e);

	*decided = kind || (is_as_it_was(c, m) && may_rename(c, m));
	if (*decided && !kind)
		kind = judge_rename(c, m, e);
	if (*decided && !kind)
		kind = rename_locked(p, m, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* The move begins before the lock is taken: it waits for those who ask by paths, and they may need the lock. */
enum err decide_rename(struct cache *c, const struct call *call, struct inode *dir,
	const char *name, struct inode *dir2, const char *name2, uint32_t flags, bool *decided,
	struct error *e)
{
	*decided = decide_has_names(c);
	if (!*decided)
		return ERR_OK;
	const struct moving m = { .dir = dir,
		.dir2 = dir2,
		.moved = tree_peek(c->tree, dir, name),
		.replaced = tree_peek(c->tree, dir2, name2),
		.name = name,
		.name2 = name2,
		.flags = flags };
	struct inode *exchanged = flags & CHANGE_EXCHANGE ? m.replaced : NULL;

	tree_move_begins(c->tree, m.moved, exchanged);
	enum err kind = decide_moving(c, call, &m, decided, e);

	tree_move_ends(c->tree, m.moved, exchanged);
	tree_unpin(c->tree, m.moved);
	tree_unpin(c->tree, m.replaced);
	return kind;
}
