/* Names that are made and linked locally. */
#include "cache/write/local_inside.h"

#include "cache/lease/hand_out.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"

#include <string.h>
#include <sys/stat.h>

/* ---- Making ---- */

static uint32_t type_of(const struct create_args *m)
{
	switch (m->op) {
	case CHANGE_MKDIR: return S_IFDIR;
	case CHANGE_SYMLINK: return S_IFLNK;
	case CHANGE_MKNOD: return m->mode & S_IFMT;
	default: return S_IFREG;
	}
}

/*
 * The attributes that the sandbox's kernel will give. A directory with the set-group-ID bit passes
 * on its group, and the bit to directories.
 */
static struct attr attr_to_be(
	struct cache *c, struct inode *dir, const struct create_args *m, struct timespec now)
{
	bool owned = c->options.owners_from_caller;
	uint32_t type = type_of(m);
	struct attr above;

	tree_attr(c->tree, dir, &above);
	struct attr attr = { .dev = above.dev,
		.mode = type | (type == S_IFLNK ? 0777 : m->mode & 07777),
		.nlink = type == S_IFDIR ? 2 : 1,
		.uid = owned ? m->uid : c->sandbox.identity.uid,
		.gid = owned ? m->gid : c->sandbox.identity.gid,
		.blksize = above.blksize,
		.size = m->text ? strlen(m->text) : 0,
		.atime = now,
		.mtime = now,
		.ctime = now,
		.no_xattrs = true };

	if (above.mode & S_ISGID) {
		attr.gid = above.gid;
		attr.mode |= type == S_IFDIR ? S_ISGID : 0;
	}
	return attr;
}

enum err local_show_made_locked(struct writeback *p, struct op *q, const struct create_args *m,
	struct inode *dir, const char *name, struct inode **out, struct error *e)
{
	struct cache *c = p->cache;
	const struct tree_news news = { .attr = attr_to_be(c, dir, m, q->change.mtime),
		.link = m->text,
		.until_ms = TREE_HELD,
		.name_until_ms = TREE_HELD,
		.begun = q->about.scope.begun };
	struct inode *i = tree_apply_local_made(c->tree, dir, name, &news);
	enum err kind =
		i ? writeback_touch_locked(p, q, i, e) : error_set(e, ERR_NO_MEMORY, "%s", name);

	if (kind && i) {
		tree_refused_made(c->tree, i);
		tree_unpin(c->tree, i);
	}
	if (kind)
		return kind;
	q->made = q->about.target = q->moved[0] = i;
	i->pending->maker = q;
	tree_mark_unsynced(c->tree, i, 1);
	if (news.link)
		tree_link_is_ours(c->tree, i);
	*out = i;
	return ERR_OK;
}

static void take_back_locked(struct writeback *p, struct op *q)
{
	op_note_done(q, p->journal, NULL);
	writeback_remove_locked(p, q, OP_ELIDED, "taken back");
}

static enum err make_in_place_locked(struct writeback *p, const struct change *change,
	struct inode *dir, const char *name, const struct create_args *m, struct inode **out,
	struct error *e)
{
	const struct change_about about = { .scope.inodes = { dir }, .dir = dir };
	struct op *q;
	enum err kind = writeback_add_locked(p, change, &about, &q, e);

	if (kind)
		return kind;
	kind = local_show_made_locked(p, q, m, dir, name, out, e);
	if (kind)
		take_back_locked(p, q);
	return kind;
}

/* The sandbox shows the file when it is whole. */
static enum err make_staged_locked(struct writeback *p, const struct change *change,
	struct inode *dir, const char *name, const struct create_args *m, struct inode **out,
	struct error *e)
{
	static const struct change_about nothing;
	AUTO_FREE char *staged = writeback_new_name(p);
	const struct change commit = { .op = CHANGE_PLACE,
		.flags = CHANGE_EXCL | CHANGE_BY_HANDLE,
		.path = staged,
		.path2 = change->path,
		.parent2 = change->parent };
	struct change create = *change;
	struct op *q;

	if (!staged)
		return error_set(e, ERR_NO_MEMORY, "%s", name);
	create.path = staged;
	create.parent = (struct expect){ 0 };
	enum err kind = writeback_add_locked(p, &create, &nothing, &q, e);

	if (kind)
		return kind;
	q->may_wait = true;
	kind = local_show_made_locked(p, q, m, dir, name, out, e);
	if (!kind) {
		bool may_replace = !m->exclusive && m->empties;

		kind = writeback_stage_new_locked(p, *out, dir, &commit, may_replace, e);
		if (!kind)
			return ERR_OK;
		tree_refused_made(p->cache->tree, *out);
		tree_unpin(p->cache->tree, *out);
	}
	take_back_locked(p, q);
	return kind;
}

/*
 * Whether the directory gives its group to new entries. Only the sandbox's kernel may do that, and
 * not for a file that is moved in.
 */
static bool gives_its_group(struct cache *c, struct inode *dir)
{
	struct attr attr;

	tree_attr(c->tree, dir, &attr);
	return attr.mode & S_ISGID;
}

static enum err make_locked(struct writeback *p, struct inode *dir, const char *name,
	const struct create_args *m, struct inode **out, struct error *e)
{
	struct cache *c = p->cache;
	struct change change = remote_creation(c, m);
	AUTO_TREE_PATH struct tree_path path = { 0 };
	enum err kind = local_check_name(name, e);

	if (!kind)
		kind = local_dir_permission(c, dir, name, e);
	if (!kind)
		kind = tree_path(c->tree, dir, name, &path, e);
	change.path = path.text;
	change.parent = tree_expect(c->tree, dir);
	change.mtime = cache_time_of_change(c);
	change.set = change.mtime.tv_sec ? SET_MTIME : 0;
	/* A call without O_EXCL was promised a new file, too. */
	if (m->op == CHANGE_CREATE)
		change.flags |= CHANGE_EXCL;
	/* Where others make the same directory, entries that are made in it here go into theirs. */
	if (m->op == CHANGE_MKDIR)
		change.flags |= CHANGE_TAKES;
	if (kind)
		return kind;
	bool is_staged = m->opens && !gives_its_group(c, dir);

	return (is_staged ? make_staged_locked : make_in_place_locked)(
		p, &change, dir, name, m, out, e);
}

void local_show_entry(
	struct cache *c, const struct call *call, struct inode *dir, const struct create_args *m)
{
	const struct tree_local_effect f = { .now = cache_time_of_change(c),
		.links = m->op == CHANGE_MKDIR,
		.asker = call ? call->asker : 0 };

	tree_apply_local(c->tree, dir, &f);
}

static bool is_device(const struct create_args *m)
{
	return m->op == CHANGE_MKNOD && (S_ISCHR(m->mode) || S_ISBLK(m->mode));
}

enum err local_make(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	const struct create_args *m, struct cache_entry *out, bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;
	struct inode *made = NULL;

	*decided = local_has_names(c) && !is_device(m);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);
	bool exists = local_is_there(c, dir, name);

	*decided =
		kind || (local_may(c, dir) && !(exists && m->op == CHANGE_CREATE && !m->exclusive));
	if (*decided && !kind && exists)
		kind = error_set(e, ERR_EXISTS, "%s", name);
	if (*decided && !kind)
		kind = make_locked(p, dir, name, m, &made, e);
	if (*decided && !kind)
		local_show_entry(c, call, dir, m);
	pthread_mutex_unlock(&p->lock);
	if (!*decided || kind)
		return kind;
	cache_hand_out_made(c, dir, name, made, out);
	tree_unpin(c->tree, made);
	return ERR_OK;
}

/* ---- Linking ---- */

void local_show_linked(
	struct cache *c, struct op *q, struct inode *i, struct inode *dir, const char *name)
{
	q->moved[0] = i;
	tree_mark_unsynced(c->tree, i, 1);
	tree_named(c->tree, dir, name, i, TREE_HELD);
	local_show_links(c, i, 1);
	local_show_dir(c, dir, 0);
}

static enum err link_locked(
	struct writeback *p, struct inode *i, struct inode *dir, const char *name, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = { .scope.inodes = { i, dir }, .target = i, .dir = dir };
	struct change change = { .op = CHANGE_LINK, .parent2 = tree_expect(c->tree, dir) };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	AUTO_TREE_PATH struct tree_path path2 = { 0 };
	struct op *q;
	enum err kind = local_check_name(name, e);

	writeback_release_locked(p, i);
	if (!kind)
		kind = local_dir_permission(c, dir, name, e);
	if (!kind)
		kind = tree_path(c->tree, i, NULL, &path, e);
	if (!kind)
		kind = tree_path(c->tree, dir, name, &path2, e);
	change.path = path.text;
	change.path2 = path2.text;
	change.target = tree_expect(c->tree, i);
	change.version = writeback_version_of_file_locked(p, i);
	if (!kind)
		kind = writeback_add_locked(p, &change, &about, &q, e);
	if (!kind)
		local_show_linked(c, q, i, dir, name);
	return kind;
}

/*
 * Whether a user may link to a file of another is a setting of the sandbox's kernel
 * (protected_hardlinks).
 */
static bool may_link(struct cache *c, struct inode *i, struct inode *dir)
{
	return local_may(c, dir) && local_is_known(c, i) && local_is_owner(c, i);
}

enum err local_link(struct cache *c, const struct call *call, struct inode *i, struct inode *dir,
	const char *name, struct cache_entry *out, bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;

	*decided = local_has_names(c);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);

	*decided = kind || may_link(c, i, dir);
	if (*decided && !kind && local_is_there(c, dir, name))
		kind = error_set(e, ERR_EXISTS, "%s", name);
	if (*decided && !kind)
		kind = link_locked(p, i, dir, name, e);
	pthread_mutex_unlock(&p->lock);
	if (*decided && !kind)
		cache_hand_out(c, dir, name, i, out);
	return kind;
}
