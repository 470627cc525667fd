#include "cache/names.h"

#include "cache/lease/entries.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/path_request.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/local.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One change of names under way: the change, what it is about, and its answer. */
struct naming {
	const struct call *call;
	struct change change;
	struct change_about about;
	struct change_result result;
	bool was_lost; /* an answer to the request was lost */
};

static enum err ask_change(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	struct naming *n = context;

	n->change.path = path;
	if (path2)
		n->change.path2 = path2;
	return remote_change(c, n->call, &n->change, &n->about, &n->result, e);
}

/* A name in the sandbox is not as it was known here: nothing of the directory is valid. */
static enum err invalidate_unexpected(struct cache *c, struct inode *dir, enum err kind)
{
	if (kind == ERR_EXISTS || kind == ERR_NOT_FOUND || kind == ERR_STALE)
		tree_invalidate(c->tree, dir);
	return kind;
}

static void tell_link(void *context, struct inode *link)
{
	cache_tell_inode(context, link, true);
}

/* The text that a link may show, `moved` itself or one below, depends on the link's depth. */
static void tell_moved_links(struct cache *c, struct inode *moved)
{
	if (!moved)
		return;
	tree_note_links(c->tree, moved);
	tree_each_link(c->tree, moved, tell_link, c);
}

/*
 * Before contents get another name they must be in the sandbox: contents that were refused must not
 * take the place of a whole file.
 */
static enum err drain_contents(
	struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	enum err kind = i ? writeback_drain(c->writeback, call, i, e) : ERR_OK;

	return kind || !i ? kind : writeback_refusal(c->writeback, i, e);
}

/* This question must come after the changes that were decided before. */
static enum err drain_both(struct cache *c, const struct call *call, struct inode *one,
	struct inode *two, struct error *e)
{
	enum err kind = one ? writeback_drain(c->writeback, call, one, e) : ERR_OK;

	return kind || !two ? kind : writeback_drain(c->writeback, call, two, e);
}

/* ---- Making ---- */

static enum err hand_out_made(struct cache *c, struct inode *dir, const char *name,
	const struct create_args *m, const struct naming *n, struct cache_entry *out,
	struct error *e)
{
	struct tree_news news = { .attr = n->result.attr,
		.begun = n->about.scope.begun,
		.link = m ? m->text : NULL,
		.until_ms = cache_attr_until(c),
		.name_until_ms = cache_name_until(c) };
	struct inode *i = tree_made(c->tree, dir, name, &news);

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "%s", name);
	if (news.link) {
		tree_link_is_ours(c->tree, i);
		tree_note_links(c->tree, i);
	}
	cache_hand_out(c, dir, name, i, out);
	tree_unpin(c->tree, i);
	return ERR_OK;
}

/*
 * The sandbox, if it is asked to make a file, has an empty one there before the first byte is
 * written. One question for the entries costs as much, and then the file can be made locally: the
 * sandbox shows it when it is whole.
 */
static enum err local_or_list(struct cache *c, const struct call *call, struct inode *dir,
	const char *name, const struct create_args *m, struct cache_entry *out, bool *decided,
	struct error *e)
{
	enum err kind = local_restore(c, call, e);

	*decided = kind;
	if (!kind)
		kind = local_make(c, call, dir, name, m, out, decided, e);
	if (*decided || kind || m->op != CHANGE_CREATE || !local_wants_entries(c, dir))
		return kind;
	kind = entries_ask_to_decide(c, call, dir, e);
	return kind ? kind : local_make(c, call, dir, name, m, out, decided, e);
}

/*
 * A caller that takes an existing file, too, needs to know whether there was one: the kernel knows
 * of none.
 */
static enum err ask_to_make(struct cache *c, struct inode *dir, const char *name,
	const struct create_args *m, struct naming *n, struct error *e)
{
	bool may_exist = m->op == CHANGE_CREATE && m->opens && !m->exclusive;

	if (may_exist)
		n->change.flags |= CHANGE_EXCL;
	enum err kind = cache_with_path(c, dir, name, ask_change, n, e);

	if (kind != ERR_EXISTS || !may_exist)
		return kind;
	n->change.flags &= ~(uint32_t)CHANGE_EXCL;
	return cache_with_path(c, dir, name, ask_change, n, e);
}

enum err cache_make(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	const struct create_args *m, struct cache_entry *out, struct error *e)
{
	struct naming n = { .call = call,
		.change = remote_creation(c, m),
		.about = { .scope.inodes = { dir }, .dir = dir } };
	bool decided;
	enum err kind = local_or_list(c, call, dir, name, m, out, &decided, e);

	out->is_made = m->opens;
	if (decided)
		return kind;
	if (!kind)
		kind = drain_both(c, call, dir, NULL, e);
	if (kind)
		return kind;
	n.change.parent = tree_expect(c->tree, dir);
	tree_change_begins(c->tree, &n.about.scope);
	kind = ask_to_make(c, dir, name, m, &n, e);
	if (!kind)
		kind = hand_out_made(c, dir, name, m, &n, out, e);
	out->is_made = m->opens && n.change.flags & CHANGE_EXCL;
	tree_change_ends(c->tree, &n.about.scope);
	return invalidate_unexpected(c, dir, kind);
}

enum err cache_make_nameless(struct cache *c, const struct call *call, const struct create_args *m,
	struct cache_entry *out, struct error *e)
{
	AUTO_FREE char *staged = remote_staged_name(c);
	struct naming n = { .call = call, .change = remote_creation(c, m) };
	enum err kind;

	if (!staged)
		return error_set(e, ERR_NO_MEMORY, "a file without a name");
	n.change.path = staged;
	kind = remote_change(c, call, &n.change, &n.about, &n.result, e);
	if (kind)
		return kind;
	struct tree_news news = { .attr = n.result.attr, .until_ms = cache_attr_until(c) };
	struct inode *i = tree_made_nameless(c->tree, &news, staged);

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "a file without a name");
	take(staged);
	kind = tree_open(c->tree, i, e);
	if (!kind)
		cache_hand_out(c, NULL, NULL, i, out);
	tree_unpin(c->tree, i);
	return kind;
}

/* ---- Linking ---- */

enum err cache_link(struct cache *c, const struct call *call, struct inode *i, struct inode *dir,
	const char *name, struct cache_entry *out, struct error *e)
{
	const struct cache_place one = { i, NULL }, two = { dir, name };
	struct naming n = { .call = call,
		.change = { .op = CHANGE_LINK },
		.about = { .scope.inodes = { i, dir }, .target = i, .dir = dir } };
	enum err kind = writeback_refusal(c->writeback, i, e);
	bool decided = false;

	if (!kind)
		kind = local_restore(c, call, e);
	if (!kind)
		kind = local_link(c, call, i, dir, name, out, &decided, e);
	if (decided && !kind)
		tell_moved_links(c, i);
	if (kind || decided)
		return kind;
	kind = drain_contents(c, call, i, e);
	if (!kind)
		kind = drain_both(c, call, dir, NULL, e);
	if (kind)
		return kind;
	n.change.target = tree_expect(c->tree, i);
	n.change.parent2 = tree_expect(c->tree, dir);
	tree_change_begins(c->tree, &n.about.scope);
	kind = cache_with_paths(c, &one, &two, ask_change, &n, e);
	if (!kind)
		tree_named(c->tree, dir, name, i, cache_name_until(c));
	tree_change_ends(c->tree, &n.about.scope);
	if (kind)
		return invalidate_unexpected(c, dir, kind);
	tell_moved_links(c, i);
	cache_hand_out(c, dir, name, i, out);
	return ERR_OK;
}

/* ---- Removing ---- */

/*
 * A removal whose answer was lost is asked for again this often, with pauses that double: 1.5 s in
 * all. Other requests wait meanwhile, so the tries end early on a link over which one attempt takes
 * long.
 */
#define REMOVAL_TRIES    4
#define REMOVAL_PAUSE_MS 100
#define REMOVAL_AGAIN_MS 10000

/*
 * A removal whose answer was lost may have been done. Without another try the tree would show a
 * file that the sandbox does not have, and writes to it could not arrive. The second try is for
 * this file alone: another file at its place stays.
 */
static enum err ask_removal(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	struct naming *n = context;
	int64_t end_ms = monotonic_ms() + REMOVAL_AGAIN_MS, pause_ms = REMOVAL_PAUSE_MS;
	n->about.number = writeback_next_number(c->writeback);
	enum err kind = ask_change(c, path, path2, n, e);

	int tries = 0;

	while ((kind == ERR_UNREACHABLE || kind == ERR_PROTOCOL) && n->about.target &&
		tries++ < REMOVAL_TRIES && monotonic_ms() < end_ms) {
		n->was_lost = true;
		n->change.target = tree_expect(c->tree, n->about.target);
		if (call_sleep(n->call, pause_ms, NULL))
			break;
		pause_ms *= 2;
		kind = ask_change(c, path, path2, n, e);
	}
	return kind;
}

static enum err ask_until_removed(
	struct cache *c, struct inode *dir, const char *name, struct naming *n, struct error *e)
{
	enum err kind = cache_with_path(c, dir, name, ask_removal, n, e);

	if (!n->was_lost)
		return kind;
	/*
	 * A caller that took ERR_STALE for an answer would try again, and remove another file at
	 * that place.
	 */
	if (kind == ERR_STALE)
		return error_set(
			e, ERR_UNREACHABLE, "%s: it is not known whether it was removed", name);
	if (kind != ERR_NOT_FOUND)
		return kind;
	if (e)
		*e = (struct error){ 0 };
	return ERR_OK;
}

/* The last handle of a staged file is closed elsewhere. Here the file gets its staging name. */
static enum err unlink_target(struct cache *c, struct inode *dir, const char *name,
	struct inode *target, struct naming *n, struct error *e)
{
	bool keep = target && tree_removal_begins(c->tree, target);
	AUTO_FREE char *staged = keep ? remote_staged_name(c) : NULL;

	if (keep)
		n->change.target = tree_expect(c->tree, target);
	n->change.path2 = staged;
	tree_change_begins(c->tree, &n->about.scope);
	enum err kind = ask_until_removed(c, dir, name, n, e);

	if (!kind && keep)
		tree_staged(c->tree, target, take(staged));
	if (!kind)
		tree_unnamed(c->tree, dir, name);
	tree_change_ends(c->tree, &n->about.scope);
	if (target)
		tree_removal_ends(c->tree, target);
	return kind;
}

static enum err remove_name(struct cache *c, const struct call *call, struct inode *dir,
	const char *name, enum change_op op, struct error *e)
{
	bool decided = false;
	enum err kind = local_restore(c, call, e);

	if (!kind)
		kind = local_remove(c, call, dir, name, op, &decided, e);
	if (kind || decided)
		return kind;
	struct inode *target = tree_peek(c->tree, dir, name);
	struct naming n = { .call = call,
		.change = { .op = op },
		.about = { .scope.inodes = { dir, target }, .target = target, .dir = dir } };

	writeback_move_begins(c->writeback);
	kind = drain_both(c, call, dir, target, e);
	n.change.parent = tree_expect(c->tree, dir);
	if (!kind)
		kind = unlink_target(c, dir, name, target, &n, e);
	writeback_move_ends(c->writeback);
	tree_unpin(c->tree, target);
	return invalidate_unexpected(c, dir, kind);
}

enum err cache_unlink(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct error *e)
{
	return remove_name(c, call, dir, name, CHANGE_UNLINK, e);
}

enum err cache_rmdir(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct error *e)
{
	return remove_name(c, call, dir, name, CHANGE_RMDIR, e);
}

/* ---- Renaming ---- */

struct renaming {
	struct naming naming;
	struct inode *dir, *dir2;
	const char *name, *name2;
	/* The inodes known to have these names, pinned; NULL: not known. */
	struct inode *moved, *replaced;
};

static void note_renamed(struct cache *c, struct renaming *r)
{
	if (r->moved && r->moved == r->replaced)
		return; /* two names of one file: rename(2) does nothing */
	if (r->naming.change.flags & CHANGE_EXCHANGE) {
		tree_exchanged(c->tree, r->dir, r->name, r->dir2, r->name2);
	} else if (r->moved) {
		tree_renamed(c->tree, &(struct tree_name){ r->dir, r->name },
			&(struct tree_name){ r->dir2, r->name2 }, r->moved, cache_name_until(c));
	} else {
		tree_unnamed(c->tree, r->dir, r->name);
		tree_unnamed(c->tree, r->dir2, r->name2);
		tree_invalidate(c->tree, r->dir);
		tree_invalidate(c->tree, r->dir2);
	}
}

static enum err do_rename(struct cache *c, struct renaming *r, struct error *e)
{
	const struct cache_place one = { r->dir, r->name }, two = { r->dir2, r->name2 };
	struct change *change = &r->naming.change;
	struct inode *exchanged = change->flags & CHANGE_EXCHANGE ? r->replaced : NULL;
	bool replaces = r->replaced && r->replaced != r->moved && !exchanged;
	bool keep = replaces && tree_removal_begins(c->tree, r->replaced);
	AUTO_FREE char *staged = keep ? remote_staged_name(c) : NULL;

	change->keep = staged;
	if (keep)
		change->target2 = tree_expect(c->tree, r->replaced);
	tree_change_begins(c->tree, &r->naming.about.scope);
	enum err kind = cache_move_paths(c, &one, &two, ask_change, &r->naming, e);

	if (!kind && keep)
		tree_staged(c->tree, r->replaced, take(staged));
	if (!kind)
		note_renamed(c, r);
	tree_change_ends(c->tree, &r->naming.about.scope);
	if (replaces)
		tree_removal_ends(c->tree, r->replaced);
	return kind;
}

/* Whether a directory moves: changes pending below it know it by its present path. */
static bool moves_directory(struct cache *c, const struct renaming *r)
{
	struct inode *const both[] = { r->moved, r->replaced };
	struct attr attr;

	for (int n = 0; n < 2; n++) {
		if (both[n])
			tree_attr(c->tree, both[n], &attr);
		if (!r->moved || (both[n] && S_ISDIR(attr.mode)))
			return true;
	}
	return false;
}

static enum err drain_renaming(
	struct cache *c, const struct call *call, const struct renaming *r, struct error *e)
{
	bool exchanges = r->naming.change.flags & CHANGE_EXCHANGE;
	enum err kind = moves_directory(c, r) ? writeback_drain_all_quietly(c->writeback, call, e)
					      : drain_both(c, call, r->dir, r->dir2, e);

	if (!kind)
		kind = drain_contents(c, call, r->moved, e);
	if (kind || !r->replaced)
		return kind;
	return exchanges ? drain_contents(c, call, r->replaced, e)
			 : drain_both(c, call, r->replaced, NULL, e);
}

static enum err ask_drained_rename(
	struct cache *c, const struct call *call, struct renaming *r, struct error *e)
{
	enum err kind = drain_renaming(c, call, r, e);

	if (kind)
		return kind;
	r->naming.call = call;
	r->naming.change.parent = tree_expect(c->tree, r->dir);
	r->naming.change.parent2 = tree_expect(c->tree, r->dir2);
	r->naming.about =
		(struct change_about){ .scope.inodes = { r->dir, r->dir2, r->moved, r->replaced },
			.target = r->moved,
			.dir = r->dir,
			.dir2 = r->dir2 };
	kind = do_rename(c, r, e);
	if (!kind && r->replaced)
		tree_invalidate(c->tree, r->replaced);
	invalidate_unexpected(c, r->dir, kind);
	return invalidate_unexpected(c, r->dir2, kind);
}

static enum err ask_rename(
	struct cache *c, const struct call *call, struct renaming *r, struct error *e)
{
	bool exchanges = r->naming.change.flags & CHANGE_EXCHANGE;
	struct inode *exchanged = exchanges ? r->replaced : NULL;

	tree_move_begins(c->tree, r->moved, exchanged);
	writeback_move_begins(c->writeback);
	enum err kind = ask_drained_rename(c, call, r, e);

	writeback_move_ends(c->writeback);
	tree_move_ends(c->tree, r->moved, exchanged);
	return kind;
}

enum err cache_known_path(
	struct cache *c, const struct inode *i, const char *name, char **out, struct error *e)
{
	struct tree_path path = { 0 };
	enum err kind = tree_path(c->tree, (struct inode *)i, name, &path, e);

	*out = path.text;
	return kind;
}

enum err cache_rename(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, uint32_t flags, struct error *e)
{
	enum err kind = local_restore(c, call, e);

	if (kind)
		return kind;
	struct renaming r = { .naming.change = { .op = CHANGE_RENAME, .flags = flags },
		.dir = dir,
		.dir2 = dir2,
		.name = name,
		.name2 = name2,
		.moved = tree_peek(c->tree, dir, name),
		.replaced = tree_peek(c->tree, dir2, name2) };
	bool decided = false;

	kind = r.moved ? writeback_refusal(c->writeback, r.moved, e) : ERR_OK;

	if (!kind && r.replaced && flags & CHANGE_EXCHANGE)
		kind = writeback_refusal(c->writeback, r.replaced, e);
	if (!kind)
		kind = local_rename(c, call, dir, name, dir2, name2, flags, &decided, e);
	if (!kind && !decided)
		kind = ask_rename(c, call, &r, e);
	if (!kind) {
		tell_moved_links(c, r.moved);
		if (flags & CHANGE_EXCHANGE)
			tell_moved_links(c, r.replaced);
	}
	tree_unpin(c->tree, r.moved);
	tree_unpin(c->tree, r.replaced);
	return kind;
}
