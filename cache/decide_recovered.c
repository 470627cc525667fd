/*
 * Changes that an earlier mount left in the journal, shown before the sandbox has them.
 *
 * The directories that the changes are about are listed first: until then no change leaves, so that
 * a listing tells the state before the changes. Then each change does to the tree what it did when
 * it was decided. The changes keep going by their names where they are sent and refused
 * (cache/pending_recover.c): the inodes are for what is shown, read, waited for and decided next.
 */
#include "cache/decide_inside.h"

#include "cache/cache_inside.h"
#include "cache/lease.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/path.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories that are moved: each path behind a move is followed back through all of them. */
#define MOVES_MAX 256
/* A directory that changed within a tick of the clock of the sandbox is listed again, so often. */
#define LISTINGS_MAX     50
#define LISTING_PAUSE_MS 10

/* A path, and what is known of it. */
struct at_path {
	const char *path;
	char *own;            /* to be freed; NULL: the path is a change's */
	struct queued *place; /* of a staged file: what puts the file in its place */
	struct inode *inode;  /* and the file itself, pinned; NULL: not shown */
	bool is_others;       /* the name is another file's: that is shown */
};

struct showing {
	struct pending *p;
	struct cache *c;
	const struct call *call;
	void *listed;   /* struct at_path, with tsearch(3): directories that may be decided in */
	void *staged;   /* likewise: files of staging */
	char *last_dir; /* the directory that was asked for last */
	struct queued *moves[MOVES_MAX];
	size_t moves_count;
	unsigned listings;
	/* The directory in which a change was shown last, pinned, and its path. */
	struct inode *dir;
	char *dir_path;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct at_path *)a)->path, ((const struct at_path *)b)->path);
}

static struct at_path *find(void *const *root, const char *path)
{
	const struct at_path wanted = { .path = path };
	struct at_path *const *node = tfind(&wanted, root, compare);

	return node ? *node : NULL;
}

/* What is known of the path, now or before; NULL: no memory. */
static struct at_path *put(void **root, const char *path)
{
	AUTO_FREE struct at_path *x = calloc(1, sizeof *x);
	struct at_path **node;

	if (!x)
		return NULL;
	x->path = path;
	node = tsearch(x, root, compare);
	if (node && *node == x)
		return take(x);
	return node ? *node : NULL;
}

/* The directory of a path: "" is the root. To be freed. */
static char *dir_of(const char *path)
{
	size_t len = (size_t)(path_name(path) - path);

	return strndup(path, len ? len - 1 : 0);
}

/* ---- Listing ---- */

static bool is_dir(struct cache *c, struct inode *i)
{
	return i && decide_is_dir(c, i);
}

static enum err list(struct showing *s, struct inode *dir, struct error *e)
{
	struct tree_entry *entries;
	size_t count;
	enum err kind = cache_entries(s->c, s->call, dir, &entries, &count, e);

	if (!kind)
		cache_entries_free(s->c, entries, count);
	return kind;
}

/* A stream that is not ready yet may be soon. */
static bool has_stream(struct cache *c)
{
	char why[sizeof((struct error *)0)->text];
	enum cache_stream state = lease_state(c->lease, why, sizeof why);

	return state == CACHE_STREAM_LIVE || state == CACHE_STREAM_BEGINS;
}

static enum err list_to_decide(struct showing *s, struct inode *dir, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && !decide_may(s->c, dir)) {
		if (++s->listings > LISTINGS_MAX)
			return error_set(e, ERR_BUSY, "a directory keeps changing");
		kind = list(s, dir, e);
		if (kind || decide_may(s->c, dir))
			break;
		if (!has_stream(s->c))
			return error_set(e, ERR_UNSUPPORTED, "no stream of changes");
		kind = call_sleep(s->call, LISTING_PAUSE_MS, e);
	}
	s->listings = 0;
	return kind;
}

/* The directory at a path of the sandbox, pinned; NULL, and no error: there is none. */
static enum err find_dir(struct showing *s, const char *path, struct inode **out, struct error *e)
{
	struct inode *dir = tree_root(s->c->tree);
	AUTO_FREE char *rest_of = strdup(path);
	char *rest = rest_of;
	enum err kind = ERR_OK;

	*out = NULL;
	if (!rest)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	tree_pin(s->c->tree, dir);
	while (!kind && is_dir(s->c, dir)) {
		char *name = *path ? strsep(&rest, "/") : NULL;

		kind = list_to_decide(s, dir, e);
		if (kind || !name)
			break;
		struct inode *next = tree_peek(s->c->tree, dir, name);

		tree_unpin(s->c->tree, dir);
		dir = next;
	}
	if (!kind && is_dir(s->c, dir))
		*out = dir;
	else
		tree_unpin(s->c->tree, dir);
	return kind;
}

/* Where that is in the sandbox, which has done none of the moves; NULL: nowhere. */
static char *carry_back(const struct showing *s, char *path)
{
	for (size_t n = s->moves_count; path && n-- > 0;)
		path = queued_carry_back(s->moves[n], path);
	return path;
}

static enum err list_path(struct showing *s, const char *path, struct error *e)
{
	AUTO_FREE char *dir = dir_of(path);
	struct inode *found;

	if (!dir)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	if (s->last_dir && !strcmp(s->last_dir, dir))
		return ERR_OK;
	free(s->last_dir);
	s->last_dir = strdup(dir);
	AUTO_FREE char *at = carry_back(s, take(dir));

	if (!at || find(&s->listed, at))
		return ERR_OK;
	enum err kind = find_dir(s, at, &found, e);

	if (kind)
		return kind;
	tree_unpin(s->c->tree, found);
	struct at_path *x = put(&s->listed, at);

	if (!x)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	x->own = take(at);
	return ERR_OK;
}

/* Whether that moves a directory which the sandbox has. */
static enum err note_move(struct showing *s, struct queued *q, struct error *e)
{
	const char *const paths[2] = { q->change.path, q->change.path2 };
	bool exchanges = q->change.flags & CHANGE_EXCHANGE;
	bool moves_dir = false;
	enum err kind = ERR_OK;

	for (int n = 0; n < 1 + exchanges && !kind; n++) {
		AUTO_FREE char *at = carry_back(s, strdup(paths[n]));
		AUTO_FREE char *above = at ? dir_of(at) : NULL;
		struct inode *dir = NULL, *i;

		if (above)
			kind = find_dir(s, above, &dir, e);
		i = dir ? tree_peek(s->c->tree, dir, path_name(at)) : NULL;
		moves_dir |= is_dir(s->c, i);
		tree_unpin(s->c->tree, i);
		tree_unpin(s->c->tree, dir);
	}
	if (kind || !moves_dir)
		return kind;
	if (s->moves_count == MOVES_MAX)
		return error_set(e, ERR_UNSUPPORTED, "many directories are moved");
	s->moves[s->moves_count++] = q;
	free(take(s->last_dir));
	return ERR_OK;
}

static enum err list_all(struct showing *s, struct error *e)
{
	struct queued *q;
	enum err kind = ERR_OK;

	TAILQ_FOREACH(q, &s->p->queue, link)
	{
		const struct change *c = &q->change;

		if (!path_is_staged(c->path))
			kind = list_path(s, c->path, e);
		if (!kind && c->path2 && !path_is_staged(c->path2))
			kind = list_path(s, c->path2, e);
		if (!kind && c->op == CHANGE_RENAME)
			kind = note_move(s, q, e);
		if (kind)
			return kind;
	}
	return ERR_OK;
}

/* ---- Names ---- */

/* The place of a name: a directory in which names may be decided, and what stands there. */
struct spot {
	struct inode *dir; /* NULL: there is no such directory */
	const char *name;
	struct inode *inode; /* pinned; NULL: nothing */
};

static void forget_dir(struct showing *s)
{
	tree_unpin(s->c->tree, take(s->dir));
	free(take(s->dir_path));
}

static void find_shown_dir(struct showing *s, const char *path)
{
	AUTO_FREE char *dir_path = dir_of(path);
	struct inode *dir = tree_root(s->c->tree);

	if (!dir_path || (s->dir && !strcmp(s->dir_path, dir_path)))
		return;
	forget_dir(s);
	AUTO_FREE char *copy = strdup(dir_path);
	char *rest = copy;

	tree_pin(s->c->tree, dir);
	for (char *name; *dir_path && is_dir(s->c, dir) && (name = strsep(&rest, "/"));) {
		struct inode *next = tree_peek(s->c->tree, dir, name);

		tree_unpin(s->c->tree, dir);
		dir = next;
	}
	if (!is_dir(s->c, dir) || !copy) {
		tree_unpin(s->c->tree, dir);
		return;
	}
	s->dir = dir;
	s->dir_path = take(dir_path);
}

/* false: the directory is there, and what it has is not known. */
static bool find_spot(struct showing *s, const char *path, struct spot *out)
{
	*out = (struct spot){ .name = path_name(path) };
	if (!*path) {
		out->inode = tree_root(s->c->tree);
		tree_pin(s->c->tree, out->inode);
		return true;
	}
	find_shown_dir(s, path);
	out->dir = s->dir && decide_may(s->c, s->dir) ? s->dir : NULL;
	out->inode = out->dir ? tree_peek(s->c->tree, out->dir, out->name) : NULL;
	return out->dir || !s->dir;
}

static void leave_spot(struct showing *s, const struct spot *x)
{
	tree_unpin(s->c->tree, x->inode);
}

/* What the change touches: from now on it is pending for that. false: no memory. */
static bool touch(struct showing *s, struct queued *q, const struct change_about *about)
{
	q->about = *about;
	if (pending_attach_locked(s->p, q))
		return true;
	q->about = (struct change_about){ 0 };
	return false;
}

/* ---- Making ---- */

static uint32_t type_of(const struct change *c)
{
	switch (c->op) {
	case CHANGE_MKDIR: return S_IFDIR;
	case CHANGE_SYMLINK: return S_IFLNK;
	case CHANGE_MKNOD: return c->mode & S_IFMT;
	default: return S_IFREG;
	}
}

static struct making making_of(struct cache *c, const struct change *change, const char *text)
{
	const struct identity *own = &c->sandbox.identity;

	return (struct making){ .op = change->op == CHANGE_PLACE ? CHANGE_CREATE : change->op,
		.mode = type_of(change) | (change->mode & 07777),
		.uid = change->uid == CHANGE_NO_OWNER ? own->uid : change->uid,
		.gid = change->gid == CHANGE_NO_OWNER ? own->gid : change->gid,
		.rdev = change->rdev,
		.text = text };
}

static void show_contents(struct showing *s, const struct queued *q, struct inode *i)
{
	const struct change *c = &q->change;
	uint64_t from = c->op == CHANGE_COPY ? c->offset2 : c->flags & CHANGE_MAKES ? 0 : c->offset;
	uint64_t len = c->op == CHANGE_COPY ? c->length : c->data_len;
	const struct change times = {
		.op = CHANGE_SETATTR, .set = c->set & SET_MTIME, .mtime = c->mtime
	};
	const struct tree_foresight f = { .now = cache_clock(s->c),
		.begin = from,
		.end = len ? from + len : 0,
		.set = times.set ? &times : NULL };

	tree_foresee(s->c->tree, i, &f);
}

/* `in`: where the name is, which may be by another change; false: no memory. */
static bool make(struct showing *s, struct queued *q, const struct spot *in, bool is_staged)
{
	const struct change_about about = { .scope.inodes = { is_staged ? NULL : in->dir },
		.dir = is_staged ? NULL : in->dir };
	bool has_text = q->change.op == CHANGE_SYMLINK && q->change.data;
	AUTO_FREE char *text = has_text ? strndup(q->change.data, q->change.data_len) : NULL;
	const struct making m = making_of(s->c, &q->change, text);
	struct error e = { 0 };
	struct inode *i;

	if ((has_text && !text) || !touch(s, q, &about))
		return false;
	if (decide_show_made_locked(s->p, q, &m, in->dir, in->name, &i, &e))
		return false;
	i->backlog->maker = NULL;
	if (queued_has_contents(q))
		show_contents(s, q, i);
	decide_show_dir(s->c, in->dir, m.op == CHANGE_MKDIR);
	tree_unpin(s->c->tree, i);
	return true;
}

/* Of what left already, the sandbox may have done this: then that is what the name stands for. */
static bool may_be_there(const struct queued *q)
{
	return q->sequence || q->may_be_done;
}

static bool take_for_made(struct showing *s, struct queued *q, const struct spot *x)
{
	struct attr attr;

	tree_attr(s->c->tree, x->inode, &attr);
	bool is_it = may_be_there(q) && (attr.mode & S_IFMT) == type_of(&q->change);
	const struct change_about about = { .scope.inodes = { x->dir, is_it ? x->inode : NULL },
		.target = is_it ? x->inode : NULL,
		.dir = x->dir };

	return touch(s, q, &about);
}

static bool show_made(struct showing *s, struct queued *q, const char *path)
{
	struct spot x;
	bool is_fine = find_spot(s, path, &x);

	if (is_fine && x.dir)
		is_fine = x.inode ? take_for_made(s, q, &x) : make(s, q, &x, false);
	leave_spot(s, &x);
	return is_fine;
}

/* ---- Staged files ---- */

static bool is_over(const struct queued *place)
{
	return place->change.flags & CHANGE_REPLACE;
}

/*
 * The file that is staged at the path; NULL: it is not shown. false: the sandbox alone knows what it
 * is, since it has made it.
 */
static bool find_staged(struct showing *s, const char *path, struct inode **out, bool *is_beside)
{
	const struct at_path *x = find(&s->staged, path);

	*is_beside = x && is_over(x->place);
	*out = x ? x->inode : NULL;
	return !x || x->inode || x->is_others;
}

static bool note_staged(struct showing *s)
{
	struct queued *q;

	TAILQ_FOREACH(q, &s->p->queue, link)
	{
		struct at_path *x =
			q->change.op == CHANGE_PLACE ? put(&s->staged, q->change.path) : NULL;

		if (q->change.op == CHANGE_PLACE && !x)
			return false;
		if (x)
			x->place = q;
	}
	return true;
}

static bool begin_over(struct showing *s, struct queued *q, struct at_path *x)
{
	struct spot at;
	bool is_fine = find_spot(s, x->place->change.path2, &at);
	const struct change_about about = { .scope.inodes = { at.inode }, .target = at.inode };

	if (is_fine && at.inode) {
		const struct change empty = { .op = CHANGE_SETATTR, .set = SET_SIZE };
		const struct tree_foresight f = { .now = cache_clock(s->c), .set = &empty };

		q->is_beside = true;
		is_fine = touch(s, q, &about);
		if (is_fine)
			tree_foresee(s->c->tree, at.inode, &f);
		if (is_fine)
			x->inode = take(at.inode);
	}
	x->is_others = is_fine && !x->inode;
	leave_spot(s, &at);
	return is_fine;
}

static bool begin_new(struct showing *s, struct queued *q, struct at_path *x)
{
	struct spot at;
	bool is_fine = find_spot(s, x->place->change.path2, &at);

	if (is_fine && at.dir && !at.inode) {
		is_fine = make(s, q, &at, true);
		x->inode = is_fine ? q->made : NULL;
		if (x->inode)
			tree_pin(s->c->tree, x->inode);
	} else if (is_fine && at.dir && may_be_there(x->place)) {
		x->inode = take(at.inode);
	}
	x->is_others = is_fine && !x->inode;
	leave_spot(s, &at);
	return is_fine;
}

static bool show_created(struct showing *s, struct queued *q)
{
	struct at_path *x = find(&s->staged, q->change.path);

	if (!path_is_staged(q->change.path))
		return show_made(s, q, q->change.path);
	if (!x)
		return true;
	return is_over(x->place) ? begin_over(s, q, x) : begin_new(s, q, x);
}

static bool place_over(struct showing *s, struct queued *q, struct inode *i)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };

	if (q->change.flags & CHANGE_EXCHANGE) {
		tree_replacing(s->c->tree, i, 1);
		tree_number(s->c->tree, i);
	}
	return touch(s, q, &about);
}

static bool place_new(struct showing *s, struct queued *q, struct inode *i)
{
	struct spot at;
	bool is_fine = find_spot(s, q->change.path2, &at);
	const struct change_about about = {
		.scope.inodes = { at.dir, i }, .target = i, .dir = at.dir
	};

	if (is_fine && at.dir) {
		is_fine = touch(s, q, &about);
		if (is_fine && i) {
			q->moved[0] = i;
			tree_owe_name(s->c->tree, i, 1);
		}
	}
	leave_spot(s, &at);
	return is_fine;
}

static bool show_placed(struct showing *s, struct queued *q)
{
	struct inode *i;
	bool is_beside;

	if (q->change.flags & CHANGE_MAKES)
		return show_made(s, q, q->change.path2);
	if (!find_staged(s, q->change.path, &i, &is_beside))
		return false;
	if (!is_over(q))
		return place_new(s, q, i);
	return !i || place_over(s, q, i);
}

/* ---- What is done to a file ---- */

static bool show_done(struct showing *s, struct queued *q, struct inode *i, struct inode *from)
{
	const struct change *c = &q->change;
	const struct change_about about = { .scope.inodes = { i, from }, .target = i };
	const struct tree_foresight set = {
		.now = cache_clock(s->c), .keeps_mtime = !(c->set & SET_SIZE), .set = c
	};

	if (!touch(s, q, &about))
		return false;
	if (c->op == CHANGE_SETATTR)
		tree_foresee(s->c->tree, i, &set);
	else if (c->op == CHANGE_COPY || queued_has_contents(q))
		show_contents(s, q, i);
	return true;
}

/* What others made of the name meanwhile is not what the change is about. */
static bool is_expected(struct showing *s, struct inode *i, const struct expect *wanted)
{
	struct expect is = tree_expect(s->c->tree, i);

	return !wanted->ino || !is.ino || (wanted->ino == is.ino && wanted->dev == is.dev);
}

static bool show_file_changed(struct showing *s, struct queued *q)
{
	const struct change *c = &q->change;
	bool copies = c->op == CHANGE_COPY;
	const char *path = copies ? c->path2 : c->path;
	struct spot from = { 0 }, at = { 0 };
	bool is_fine = !copies || path_is_staged(c->path) || find_spot(s, c->path, &from);
	struct inode *i = NULL;

	if (path_is_staged(path)) {
		is_fine = is_fine && find_staged(s, path, &i, &q->is_beside);
	} else if (is_fine) {
		is_fine = find_spot(s, path, &at);
		i = at.inode && is_expected(s, at.inode, copies ? &c->target2 : &c->target)
			? at.inode
			: NULL;
	}
	if (is_fine && i)
		is_fine = show_done(s, q, i, from.inode);
	leave_spot(s, &from);
	leave_spot(s, &at);
	return is_fine;
}

/* ---- Names that go, move and are added ---- */

static bool show_removed(struct showing *s, struct queued *q)
{
	struct cache *c = s->c;
	bool is_rmdir = q->change.op == CHANGE_RMDIR;
	struct spot at;

	if (path_is_staged(q->change.path))
		return true;
	bool is_fine = find_spot(s, q->change.path, &at);
	bool is_it = at.inode && is_expected(s, at.inode, &q->change.target) &&
		is_dir(c, at.inode) == is_rmdir;
	struct inode *i = is_it ? at.inode : NULL;
	const struct change_about about = {
		.scope.inodes = { at.dir, i }, .target = i, .dir = at.dir
	};

	if (is_fine && at.dir)
		is_fine = touch(s, q, &about);
	if (is_fine && i) {
		tree_unnamed(c->tree, at.dir, at.name);
		decide_show_links(c, i, -1);
		decide_show_dir(c, at.dir, is_rmdir ? -1 : 0);
	}
	leave_spot(s, &at);
	if (is_rmdir)
		forget_dir(s);
	return is_fine;
}

static bool show_moved(
	struct showing *s, struct queued *q, const struct spot *from, const struct spot *to)
{
	struct tree *t = s->c->tree;
	bool exchanges = q->change.flags & CHANGE_EXCHANGE;
	const struct moving m = { .dir = from->dir,
		.dir2 = to->dir,
		.moved = from->inode,
		.replaced = to->inode,
		.name = from->name,
		.name2 = to->name,
		.flags = q->change.flags };
	const struct change_about about = { .scope.inodes = { m.dir, m.dir2, m.moved, m.replaced },
		.target = m.moved,
		.dir = m.dir,
		.dir2 = m.dir2 };

	if (!touch(s, q, &about))
		return false;
	q->moved[0] = m.moved;
	q->moved[1] = m.replaced;
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_owe_name(t, q->moved[n], 1);
	tree_move_begins(t, m.moved, exchanges ? m.replaced : NULL);
	decide_show_renamed(s->c, &m);
	tree_move_ends(t, m.moved, exchanges ? m.replaced : NULL);
	return true;
}

/* Finding the second may forget the directory of the first. */
static bool find_two(struct showing *s, const struct change *c, struct spot *from, struct spot *to)
{
	bool is_fine = find_spot(s, c->path, from);

	*to = (struct spot){ 0 };
	if (from->dir)
		tree_pin(s->c->tree, from->dir);
	return is_fine && find_spot(s, c->path2, to);
}

static void leave_two(struct showing *s, const struct spot *from, const struct spot *to)
{
	leave_spot(s, from);
	leave_spot(s, to);
	tree_unpin(s->c->tree, from->dir);
}

static bool may_move(
	struct showing *s, const struct queued *q, const struct spot *from, const struct spot *to)
{
	bool exchanges = q->change.flags & CHANGE_EXCHANGE;

	if (!from->inode || !is_expected(s, from->inode, &q->change.target))
		return false;
	if (!to->inode)
		return !exchanges;
	/* What others have put there stays. */
	return from->inode != to->inode && !(q->change.flags & CHANGE_NOREPLACE) &&
		(exchanges || is_dir(s->c, from->inode) == is_dir(s->c, to->inode));
}

static bool show_renamed(struct showing *s, struct queued *q)
{
	struct spot from, to;
	bool is_fine = find_two(s, &q->change, &from, &to);
	const struct change_about about = {
		.scope.inodes = { from.dir, to.dir }, .dir = from.dir, .dir2 = to.dir
	};

	if (is_fine && from.dir && to.dir)
		is_fine = may_move(s, q, &from, &to) ? show_moved(s, q, &from, &to)
						     : touch(s, q, &about);
	bool moves_dir = is_dir(s->c, from.inode) || is_dir(s->c, to.inode);

	leave_two(s, &from, &to);
	if (moves_dir)
		forget_dir(s);
	return is_fine;
}

static bool show_linked(struct showing *s, struct queued *q)
{
	struct cache *c = s->c;
	struct spot from, to;
	bool is_fine = find_two(s, &q->change, &from, &to);
	bool is_new = from.inode && !to.inode && is_expected(s, from.inode, &q->change.target);
	struct inode *i = is_new ? from.inode : NULL;
	const struct change_about about = {
		.scope.inodes = { i, to.dir }, .target = i, .dir = to.dir
	};

	if (is_fine && to.dir)
		is_fine = touch(s, q, &about);
	if (is_fine && to.dir && i) {
		q->moved[0] = i;
		tree_owe_name(c->tree, i, 1);
		tree_named(c->tree, to.dir, to.name, i, TREE_HELD);
		decide_show_links(c, i, 1);
		decide_show_dir(c, to.dir, 0);
	}
	leave_two(s, &from, &to);
	return is_fine;
}

/* ---- The whole ---- */

/* false: it cannot be shown, and what follows it neither. */
static bool show(struct showing *s, struct queued *q)
{
	switch (q->change.op) {
	case CHANGE_MKDIR:
	case CHANGE_MKNOD:
	case CHANGE_SYMLINK: return show_made(s, q, q->change.path);
	case CHANGE_CREATE: return show_created(s, q);
	case CHANGE_PLACE: return show_placed(s, q);
	case CHANGE_LINK: return show_linked(s, q);
	case CHANGE_UNLINK:
	case CHANGE_RMDIR: return show_removed(s, q);
	case CHANGE_RENAME: return show_renamed(s, q);
	default: return show_file_changed(s, q);
	}
}

static enum err show_all_locked(struct showing *s, struct error *e)
{
	struct queued *q;

	if (s->p->under_way || s->p->answers)
		return error_set(e, ERR_BUSY, "some of the changes have left");
	if (!note_staged(s))
		return error_set(e, ERR_NO_MEMORY, "the changes of an earlier mount");
	TAILQ_FOREACH(q, &s->p->queue, link)
	if (!show(s, q))
		return error_set(
			e, ERR_BUSY, "%s: not all of its directory is known", q->change.path);
	return ERR_OK;
}

static void free_at_path(void *x)
{
	free(((struct at_path *)x)->own);
	free(x);
}

static void release(struct showing *s)
{
	struct queued *q;

	TAILQ_FOREACH(q, &s->p->queue, link)
	{
		struct at_path *x =
			q->change.op == CHANGE_PLACE ? find(&s->staged, q->change.path) : NULL;

		if (x)
			tree_unpin(s->c->tree, take(x->inode));
	}
	forget_dir(s);
	free(s->last_dir);
	tdestroy(s->listed, free_at_path);
	tdestroy(s->staged, free_at_path);
}

enum err decide_show_recovered(struct cache *c, const struct call *call, struct error *e)
{
	struct pending *p = c->pending;
	struct showing s = { .p = p, .c = c, .call = call };

	if (!decide_has_names(c) || !c->lease || !c->trust || !c->walk)
		return error_set(e, ERR_UNSUPPORTED, "no stream of changes");
	enum err kind = list_all(&s, e);

	pthread_mutex_lock(&p->lock);
	if (!kind)
		kind = show_all_locked(&s, e);
	release(&s);
	pthread_mutex_unlock(&p->lock);
	return kind;
}
