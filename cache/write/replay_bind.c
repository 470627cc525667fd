/*
 * Binding: the ops of an earlier mount get the inodes that they are about, and the tree shows their
 * local effects, as if the calls had just been made here. From then on they are ordinary ops. What
 * they change is answered from tree and journal before the sandbox has it.
 *
 * An op is bound only where its file is the one that the call saw, in the version that the call was
 * made on. The ops up to one that cannot be bound are sent by their names, and questions wait.
 */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/path.h"
#include "providers/change_words.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Attempts: each failed one lists the directories once more. */
#define TRIES_MAX 4

/* A file in staging, and the op that commits it. */
struct staged {
	const char *path; /* the path of the commit, and the key */
	const struct op *commit;
	struct inode *inode; /* NULL: no op has made the file */
	bool is_over;        /* replaces the contents of `inode` */
};

struct binding {
	struct writeback *p;
	struct cache *cache;
	struct tree *tree;
	void *files; /* struct staged, with tsearch(3) */
};

/* ---- Places and files ---- */

struct place {
	struct inode *dir, *there; /* pinned; `there` NULL: the name is free */
	const char *name;
};

static void leave_place(struct binding *b, struct place *at)
{
	tree_unpin(b->tree, at->dir);
	tree_unpin(b->tree, at->there);
}

/* The directory at the path without its last name, pinned; or NULL. */
static struct inode *find_dir(struct binding *b, const char *path)
{
	AUTO_FREE char *way = strdup(path);
	struct inode *dir = tree_root(b->tree);
	char *name = way, *slash;

	tree_pin(b->tree, dir);
	while (name && dir && (slash = strchr(name, '/'))) {
		*slash = 0;
		struct inode *next = tree_peek(b->tree, dir, name);

		tree_unpin(b->tree, dir);
		dir = next;
		name = slash + 1;
	}
	if (name && dir && local_is_dir(b->cache, dir) && local_may(b->cache, dir))
		return dir;
	tree_unpin(b->tree, dir);
	return NULL;
}

/* A directory that an earlier mount made has no number in its ops. */
static bool is_dir(struct binding *b, struct inode *dir, const struct expect *expected)
{
	const struct expect is = tree_expect(b->tree, dir);

	if (!expected->ino)
		return true;
	return !tree_is_provisional(b->tree, dir) && op_is_same_file(&is, expected);
}

/* The place at the path, if its directory is the one of the call. */
static bool find_place(
	struct binding *b, const char *path, const struct expect *parent, struct place *out)
{
	*out = (struct place){ .name = path_name(path) };
	if (path_is_staged(path) || !*path)
		return false;
	out->dir = find_dir(b, path);
	if (!out->dir)
		return false;
	out->there = tree_peek(b->tree, out->dir, out->name);
	return is_dir(b, out->dir, parent);
}

/* Whether the file has the version that the call was made on, and no op before it changes it. */
static bool is_version(struct binding *b, struct inode *i, const struct version *version)
{
	struct attr attr;

	tree_attr(b->tree, i, &attr);
	const struct version is = version_shown(&attr);

	return is.size == version->size && time_equals(is.mtime, version->mtime) &&
		time_equals(is.ctime, version->ctime);
}

/*
 * Whether the inode is the one of the call. An op behind others of the file follows them. The
 * version of a link or a directory does not matter.
 */
static bool is_file(struct binding *b, struct inode *i, const struct expect *expected,
	const struct version *version)
{
	bool is_first = !i->pending || !i->pending->in_queue;
	const struct expect is = tree_expect(b->tree, i);
	struct attr attr;

	if (tree_is_provisional(b->tree, i))
		return !expected->ino;
	if (expected->ino && !op_is_same_file(&is, expected))
		return false;
	if (!is_first)
		return true;
	tree_attr(b->tree, i, &attr);
	if (!local_is_known(b->cache, i))
		return false;
	if (S_ISREG(attr.mode))
		return version->ctime.tv_sec && is_version(b, i, version);
	return expected->ino || S_ISDIR(attr.mode);
}

/* ---- Staged files ---- */

static int compare_staged(const void *a, const void *b)
{
	return strcmp(((const struct staged *)a)->path, ((const struct staged *)b)->path);
}

static struct staged *find_staged(const struct binding *b, const char *path)
{
	const struct staged wanted = { .path = path };
	struct staged *const *node = tfind(&wanted, &b->files, compare_staged);

	return node ? *node : NULL;
}

static bool note_commit(struct binding *b, const struct op *commit)
{
	struct staged *s = calloc(1, sizeof *s);

	if (!s)
		return false;
	*s = (struct staged){ .path = commit->change.path, .commit = commit };
	struct staged *const *node = tsearch(s, &b->files, compare_staged);

	if (node && *node == s)
		return true;
	free(s);
	return false;
}

static bool note_commits(struct binding *b)
{
	const struct op *q;
	bool is_done = true;

	TAILQ_FOREACH(q, &b->p->queue, link)
	if (q->change.op == CHANGE_PLACE && is_done)
		is_done = note_commit(b, q);
	return is_done;
}

/* ---- Making ---- */

static struct create_args args_of(const struct change *c)
{
	return (struct create_args){ .op = c->op == CHANGE_PLACE ? CHANGE_CREATE : c->op,
		.mode = c->mode,
		.rdev = c->rdev,
		.uid = c->uid,
		.gid = c->gid };
}

/* *out: of the op's pins alone. */
static bool show_made(struct binding *b, struct op *q, const struct place *at, struct inode **out)
{
	struct create_args m = args_of(&q->change);
	AUTO_FREE char *text = m.op == CHANGE_SYMLINK && q->change.data
		? strndup(q->change.data, q->change.data_len)
		: NULL;

	m.text = text;
	if ((m.op == CHANGE_SYMLINK && !text) ||
		local_show_made_locked(b->p, q, &m, at->dir, at->name, out, NULL))
		return false;
	local_show_entry(b->cache, NULL, at->dir, &m);
	tree_unpin(b->tree, *out);
	return true;
}

/* A name that is taken is others'. */
static bool bind_made(struct binding *b, struct op *q, const char *path,
	const struct expect *parent, bool in_staging, struct inode **out)
{
	struct place at;
	bool is_bound = find_place(b, path, parent, &at) && !at.there;
	const struct change_about about = { .scope.inodes = { in_staging ? NULL : at.dir },
		.dir = in_staging ? NULL : at.dir };

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about) && show_made(b, q, &at, out);
	leave_place(b, &at);
	return is_bound;
}

/* The op makes a small file, with all its contents. */
static bool bind_whole(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	struct inode *made;

	if (!(c->flags & CHANGE_EXCL) || !bind_made(b, q, c->path2, &c->parent2, false, &made))
		return false;
	made->pending->maker = NULL;
	writeback_show_contents_locked(b->p, made, c, c->mtime);
	return true;
}

static bool bind_replacement(struct binding *b, struct op *q, struct staged *s)
{
	const struct change *commit = &s->commit->change;
	static const struct expect any;
	struct place at;
	bool is_bound = find_place(b, commit->path2, &any, &at) && at.there &&
		is_file(b, at.there, &commit->target2, &commit->version2);
	const struct change_about about = { .scope.inodes = { at.there }, .target = at.there };

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about);
	q->is_replacement = s->is_over = is_bound;
	s->inode = is_bound ? at.there : NULL;
	leave_place(b, &at);
	return is_bound;
}

static bool bind_create(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	struct staged *s = path_is_staged(c->path) ? find_staged(b, c->path) : NULL;
	struct inode *made;

	if (!path_is_staged(c->path))
		return bind_made(b, q, c->path, &c->parent, false, &made);
	if (!s || s->inode || s->commit->change.flags & CHANGE_EXCHANGE)
		return false;
	const struct change *commit = &s->commit->change;

	if (!(commit->flags & CHANGE_EXCL))
		return bind_replacement(b, q, s);
	return bind_made(b, q, commit->path2, &commit->parent2, true, &s->inode);
}

static bool bind_place(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	const struct staged *s = find_staged(b, c->path);
	static const struct expect any;
	struct place at;

	if (c->flags & CHANGE_MAKES)
		return bind_whole(b, q);
	bool is_bound = find_place(b, c->path2, &any, &at) && s && s->inode && at.there == s->inode;
	bool is_over = is_bound && s->is_over;
	const struct change_about about = { .scope.inodes = { at.there, is_over ? NULL : at.dir },
		.target = at.there,
		.dir = is_over ? NULL : at.dir };

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about);
	if (is_bound && !is_over) {
		q->moved[0] = at.there;
		tree_mark_unsynced(b->tree, at.there, 1);
	}
	leave_place(b, &at);
	return is_bound;
}

/* ---- Contents and attributes ---- */

/* The file of the op, pinned; or NULL. */
static struct inode *find_file(struct binding *b, const struct op *q, bool *is_replacement)
{
	const struct change *c = &q->change;
	const struct staged *s = path_is_staged(c->path) ? find_staged(b, c->path) : NULL;
	static const struct expect any;
	struct place at = { 0 };

	*is_replacement = s && s->is_over;
	if (s && s->inode) {
		tree_pin(b->tree, s->inode);
		return s->inode;
	}
	if (!*c->path) {
		tree_pin(b->tree, tree_root(b->tree));
		return tree_root(b->tree);
	}
	/* A sync leaves any file as it is. */
	bool is = find_place(b, c->path, &any, &at) && at.there &&
		(c->op == CHANGE_SYNC || is_file(b, at.there, &c->target, &c->version));

	tree_unpin(b->tree, at.dir);
	if (!is)
		tree_unpin(b->tree, at.there);
	return is ? at.there : NULL;
}

static struct timespec time_of(struct binding *b, const struct change *c)
{
	return c->set & SET_MTIME ? c->mtime : cache_time_of_change(b->cache);
}

static void show_attributes(struct binding *b, struct op *q, struct inode *i)
{
	const struct change *c = &q->change;
	const struct tree_local_effect f = {
		.now = cache_time_of_change(b->cache), .keeps_mtime = !(c->set & SET_SIZE), .set = c
	};

	/* The journal does not tell which time no call set. */
	q->is_unasked = c->set == SET_MTIME && c->flags & CHANGE_BY_HANDLE;
	tree_apply_local(b->tree, i, &f);
}

static bool bind_to_file(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	bool is_replacement;
	struct inode *i = find_file(b, q, &is_replacement);
	const struct change_about about = { .scope.inodes = { i }, .target = i };

	if (!i)
		return false;
	bool is_bound = writeback_bind_locked(b->p, q, &about);

	q->is_replacement = is_bound && is_replacement;
	if (is_bound && c->op == CHANGE_SETATTR)
		show_attributes(b, q, i);
	else if (is_bound && c->op != CHANGE_SYNC)
		writeback_show_contents_locked(b->p, i, c, time_of(b, c));
	tree_unpin(b->tree, i);
	return is_bound;
}

static bool bind_copy(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	const struct staged *s = find_staged(b, c->path2);
	struct inode *to = s ? s->inode : NULL;
	static const struct expect any;
	struct place from = { 0 };
	bool is_bound = to && find_place(b, c->path, &any, &from) && from.there &&
		is_file(b, from.there, &c->target, &c->version);
	const struct change_about about = { .scope.inodes = { to, from.there }, .target = to };

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about);
	if (is_bound) {
		q->is_replacement = s->is_over;
		local_show_copied(b->cache, c, to, time_of(b, c));
	}
	leave_place(b, &from);
	return is_bound;
}

/* ---- Names ---- */

static bool may_remove(struct binding *b, const struct op *q, const struct place *at)
{
	const struct change *c = &q->change;
	bool is_of_dir = c->op == CHANGE_RMDIR;

	if (!at->there || c->path2 || local_is_dir(b->cache, at->there) != is_of_dir)
		return false;
	if (is_of_dir && !(local_may(b->cache, at->there) && local_is_empty(b->cache, at->there)))
		return false;
	return is_file(b, at->there, &c->target, &c->version);
}

static bool bind_removal(struct binding *b, struct op *q)
{
	struct place at;
	bool is_bound =
		find_place(b, q->change.path, &q->change.parent, &at) && may_remove(b, q, &at);
	const struct change_about about = {
		.scope.inodes = { at.dir, at.there }, .target = at.there, .dir = at.dir
	};

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about);
	if (is_bound)
		local_show_removed(b->cache, at.dir, at.name, at.there, q->change.op);
	leave_place(b, &at);
	return is_bound;
}

/* Whether what is at the new name is what the call replaces. */
static bool may_replace(struct binding *b, const struct op *q, struct inode *i)
{
	const struct change *c = &q->change;

	if (!i || c->flags & CHANGE_NOREPLACE)
		return !i && c->flags & CHANGE_NOREPLACE;
	return (op_exchanges(q) || !local_is_dir(b->cache, i)) &&
		is_file(b, i, &q->over, &c->version2);
}

static bool may_rename(struct binding *b, const struct op *q, const struct local_move *m)
{
	const struct change *c = &q->change;

	return m->moved && m->moved != m->replaced &&
		is_file(b, m->moved, &c->target, &c->version) && may_replace(b, q, m->replaced) &&
		local_are_movable(b->cache, m);
}

static bool bind_move(struct binding *b, struct op *q, const struct local_move *m)
{
	const struct change_about about = local_about_move(m);

	if (!may_rename(b, q, m) || !writeback_bind_locked(b->p, q, &about))
		return false;
	local_note_moved(b->cache, q, m);
	local_show_renamed(b->cache, m);
	return true;
}

static bool bind_rename(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	struct place from, to = { 0 };
	bool is_bound = find_place(b, c->path, &c->parent, &from) &&
		find_place(b, c->path2, &c->parent2, &to);
	const struct local_move m = { .dir = from.dir,
		.dir2 = to.dir,
		.moved = from.there,
		.replaced = to.there,
		.name = from.name,
		.name2 = to.name,
		.flags = c->flags };
	struct inode *exchanged = op_exchanges(q) ? m.replaced : NULL;

	if (is_bound) {
		tree_move_begins(b->tree, m.moved, exchanged);
		is_bound = bind_move(b, q, &m);
		tree_move_ends(b->tree, m.moved, exchanged);
	}
	leave_place(b, &from);
	leave_place(b, &to);
	return is_bound;
}

static bool bind_link(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	static const struct expect any;
	struct place from, to = { 0 };
	bool is_bound = find_place(b, c->path, &any, &from) && from.there &&
		is_file(b, from.there, &c->target, &c->version) &&
		find_place(b, c->path2, &c->parent2, &to) && !to.there;
	const struct change_about about = {
		.scope.inodes = { from.there, to.dir }, .target = from.there, .dir = to.dir
	};

	is_bound = is_bound && writeback_bind_locked(b->p, q, &about);
	if (is_bound)
		local_show_linked(b->cache, q, from.there, to.dir, to.name);
	leave_place(b, &from);
	leave_place(b, &to);
	return is_bound;
}

/* ---- Ops that are sent by their names ---- */

/* A file without a name stays in staging for a handle of the earlier mount, which nobody has. */
static bool is_for_handle(const struct op *q)
{
	const struct change *c = &q->change;

	switch (c->op) {
	case CHANGE_UNLINK:
	case CHANGE_RMDIR: return c->path2 || path_is_staged(c->path);
	case CHANGE_PLACE: return c->flags & CHANGE_EXCHANGE;
	case CHANGE_RENAME: return c->keep;
	default: return false;
	}
}

/* Whether the sandbox has the staged file of the op already: the tree cannot know this file. */
static bool is_begun(struct binding *b, const struct op *q)
{
	const struct change *c = &q->change;

	if (!path_is_staged(c->path) || c->flags & CHANGE_MAKES)
		return false;
	if (c->op == CHANGE_CREATE)
		return q->sequence || !note_commit(b, q);
	return !find_staged(b, c->path);
}

uint64_t writeback_last_by_name(struct writeback *p)
{
	struct binding b = { .p = p };
	uint64_t last = 0;
	struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	if (is_begun(&b, q) || q->sequence || q->outcome_unknown || is_for_handle(q))
		last = q->order;
	tdestroy(b.files, free);
	return last;
}

/* ---- All ops ---- */

static bool bind_one(struct binding *b, struct op *q)
{
	const struct change *c = &q->change;
	struct inode *made;

	if (!q->is_recovered)
		return false;
	switch (c->op) {
	case CHANGE_CREATE: return bind_create(b, q);
	case CHANGE_MKDIR:
	case CHANGE_MKNOD:
	case CHANGE_SYMLINK: return bind_made(b, q, c->path, &c->parent, false, &made);
	case CHANGE_PLACE: return bind_place(b, q);
	case CHANGE_WRITE:
	case CHANGE_APPEND:
	case CHANGE_SETATTR:
	case CHANGE_SYNC: return bind_to_file(b, q);
	case CHANGE_COPY: return bind_copy(b, q);
	case CHANGE_UNLINK:
	case CHANGE_RMDIR: return bind_removal(b, q);
	case CHANGE_RENAME: return bind_rename(b, q);
	case CHANGE_LINK: return bind_link(b, q);
	default: return false;
	}
}

/* `failures` is of no attempt: the versions are checked, since the call is long ago. */
static void become_ordinary(struct writeback *p, struct op *q)
{
	const struct local_move m = {
		.moved = q->moved[0], .replaced = q->moved[1], .flags = q->change.flags
	};

	writeback_leave_named_locked(q);
	q->is_recovered = q->is_urgent = false;
	q->is_barrier = q->change.op == CHANGE_RENAME && local_moves_dir(p->cache, &m);
	q->failures = UINT64_MAX;
	q->order = ++p->orders;
}

/* The kernel has no inode but the root yet, so what the tree shows is forgotten as a whole. */
static void unbind_from(struct binding *b, struct op *q)
{
	for (; q; q = TAILQ_PREV(q, op_list, link)) {
		if (!q->is_recovered || !q->about.scope.has_local_effect)
			continue;
		if (q->made)
			tree_refused_made(b->tree, q->made);
		writeback_unbind_locked(b->p, q);
		q->is_replacement = q->is_unasked = false;
	}
}

/* The first op that cannot be bound; NULL: all are. */
static struct op *bind_all_locked(struct binding *b)
{
	struct op *q = TAILQ_FIRST(&b->p->queue);

	if (!note_commits(b))
		return q;
	while (q && bind_one(b, q))
		q = TAILQ_NEXT(q, link);
	return q;
}

static void end_locked(struct binding *b)
{
	struct op *q;

	TAILQ_FOREACH(q, &b->p->queue, link)
	become_ordinary(b->p, q);
	b->p->binding = BINDING_DONE;
	cache_tell_inode(b->cache, tree_root(b->tree), false);
}

/* The ops up to this one are sent by their names, and those behind it are tried again. */
static void give_up_locked(struct binding *b, struct op *q)
{
	struct writeback *p = b->p;

	log_debug(LOG_WRITE, "%s %s is shown when it is sent", change_word(q->change.op),
		op_path(&q->change));
	unbind_from(b, q);
	p->by_name_to = q->order;
	p->binding = ++p->bindings < TRIES_MAX ? BINDING_DUE : BINDING_NONE;
}

bool writeback_is_to_bind_locked(const struct writeback *p)
{
	const struct op *first = TAILQ_FIRST(&p->queue);

	return p->binding == BINDING_DUE && !p->under_way && first && first->order > p->by_name_to;
}

void writeback_bind_all_locked(struct writeback *p)
{
	struct cache *c = p->cache;
	struct binding b = { .p = p, .cache = c, .tree = c->tree };

	p->binding = BINDING_UNDER_WAY;
	pthread_mutex_unlock(&p->lock);
	bool is_known = replay_list_dirs(p);

	pthread_mutex_lock(&p->lock);
	struct op *failed = is_known ? bind_all_locked(&b) : NULL;

	if (failed)
		give_up_locked(&b, failed);
	else if (is_known)
		end_locked(&b);
	else
		p->binding = BINDING_NONE;
	if (p->binding != BINDING_DONE)
		tree_invalidate_below(b.tree, tree_root(b.tree));
	tdestroy(b.files, free);
	senders_wake_locked(p);
}
