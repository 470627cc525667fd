#include "cache/decide.h"

#include "cache/cache_inside.h"
#include "cache/judge.h"
#include "cache/pending_inside.h"
#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* ---- What may be decided ---- */

static bool may_decide(struct cache *c, struct inode *dir)
{
	return tree_may_decide(c->tree, dir, monotonic_ms());
}

static bool decides_names(const struct cache *c)
{
	return c->pending && !c->options.excl_remote && !c->options.write_through;
}

/* Where the kernel here does not judge for the sandbox's user. */
static enum err judge_access(
	struct cache *c, struct inode *dir, unsigned want, const char *name, struct error *e)
{
	struct attr attr;

	tree_attr(c->tree, dir, &attr);
	if (c->options.owners_from_caller || judge_allows(&c->sandbox.identity, &attr, want))
		return ERR_OK;
	return error_set(
		e, ERR_DENIED, "%s: the sandbox's user may not change this directory", name);
}

static enum err judge_dir(struct cache *c, struct inode *dir, const char *name, struct error *e)
{
	return judge_access(c, dir, JUDGE_WRITE | JUDGE_EXEC, name, e);
}

/* In a directory with the sticky bit only the owners of the directory and of the entry may take a name away. */
static enum err judge_removal(
	struct cache *c, struct inode *dir, struct inode *target, const char *name, struct error *e)
{
	uint32_t uid = c->sandbox.identity.uid;
	struct attr above, attr;
	enum err kind = judge_dir(c, dir, name, e);

	if (kind || c->options.owners_from_caller || uid == 0)
		return kind;
	tree_attr(c->tree, dir, &above);
	tree_attr(c->tree, target, &attr);
	if (above.mode & S_ISVTX && uid != above.uid && uid != attr.uid)
		return error_set(e, ERR_NOT_OWNER, "%s: belongs to somebody else", name);
	return ERR_OK;
}

static bool is_owner(struct cache *c, struct inode *i)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	return c->sandbox.identity.uid == 0 || c->sandbox.identity.uid == attr.uid;
}

static bool is_dir(struct cache *c, struct inode *i)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	return S_ISDIR(attr.mode);
}

/* Only of one whose entries are all known. */
static bool is_empty(struct cache *c, struct inode *dir)
{
	struct tree_entry *entries;
	size_t count;

	if (!tree_entries(c->tree, dir, monotonic_ms(), false, &entries, &count))
		return false;
	tree_entries_free(c->tree, entries, count);
	return count == 0;
}

/* ---- Showing ---- */

static void show_dir(struct cache *c, struct inode *dir, int links)
{
	const struct tree_foresight f = { .now = cache_clock(c), .links = links };

	tree_foresee(c->tree, dir, &f);
}

/* Only its links and its ctime. */
static void show_links(struct cache *c, struct inode *i, int links)
{
	const struct tree_foresight f = {
		.now = cache_clock(c), .links = links, .keeps_mtime = true
	};

	tree_foresee(c->tree, i, &f);
}

/* ---- Making ---- */

struct made {
	struct cache *cache;
	struct inode *dir;
	const char *name;
	const struct making *making;
	struct tree_path path;
};

static uint32_t type_of(const struct making *m)
{
	switch (m->op) {
	case CHANGE_MKDIR: return S_IFDIR;
	case CHANGE_SYMLINK: return S_IFLNK;
	case CHANGE_MKNOD: return m->mode & S_IFMT;
	default: return S_IFREG;
	}
}

/* As the sandbox's kernel will make it; the group, and of directories the bit, come from a directory that has it. */
static struct attr attr_to_be(struct cache *c, struct inode *dir, const struct making *m)
{
	bool owned = c->options.owners_from_caller;
	uint32_t type = type_of(m);
	struct timespec now = cache_clock(c);
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
		.ctime = now };

	if (above.mode & S_ISGID) {
		attr.gid = above.gid;
		attr.mode |= type == S_IFDIR ? S_ISGID : 0;
	}
	return attr;
}

static struct change change_to_make(struct cache *c, const struct making *m)
{
	bool owned = c->options.owners_from_caller;

	return (struct change){ .op = m->op,
		.flags = m->op == CHANGE_CREATE ? CHANGE_EXCL : 0,
		.mode = m->mode,
		.uid = owned ? m->uid : CHANGE_NO_OWNER,
		.gid = owned ? m->gid : CHANGE_NO_OWNER,
		.data = m->text,
		.data_len = m->text ? strlen(m->text) : 0 };
}

static enum err check_name(const char *name, struct error *e)
{
	if (strlen(name) > PATH_NAME_MAX)
		return error_set(e, ERR_NAME_TOO_LONG, "a name of %zu bytes", strlen(name));
	return ERR_OK;
}

static enum err show_made_locked(struct pending *p, struct queued *q, const struct making *m,
	struct inode *dir, const char *name, struct inode **out, struct error *e)
{
	struct cache *c = p->cache;
	const struct tree_news news = { .attr = attr_to_be(c, dir, m),
		.link = m->text,
		.until_ms = TREE_HELD,
		.name_until_ms = TREE_HELD,
		.begun = q->about.scope.begun };
	struct inode *i = tree_foresee_made(c->tree, dir, name, &news);
	enum err kind =
		i ? pending_touch_locked(p, q, i, e) : error_set(e, ERR_NO_MEMORY, "%s", name);

	if (kind && i) {
		tree_refused_made(c->tree, i);
		tree_unpin(c->tree, i);
	}
	if (kind)
		return kind;
	q->made = q->about.target = q->moved[0] = i;
	tree_owe_name(c->tree, i, 1);
	if (news.link)
		tree_link_is_ours(c->tree, i);
	show_dir(c, dir, m->op == CHANGE_MKDIR);
	*out = i;
	return ERR_OK;
}

static enum err make_locked(struct pending *p, struct inode *dir, const char *name,
	const struct making *m, struct inode **out, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = { .scope.inodes = { dir }, .dir = dir };
	struct change change = change_to_make(c, m);
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct queued *q;
	enum err kind = check_name(name, e);

	if (!kind)
		kind = judge_dir(c, dir, name, e);
	if (!kind)
		kind = tree_path(c->tree, dir, name, &path, e);
	change.path = path.text;
	change.parent = tree_expect(c->tree, dir);
	if (!kind)
		kind = pending_add_locked(p, &change, &about, &q, e);
	if (kind)
		return kind;
	kind = show_made_locked(p, q, m, dir, name, out, e);
	if (kind) {
		queued_note_done(q, p->journal, NULL);
		pending_remove_locked(p, q);
	}
	return kind;
}

static bool is_device(const struct making *m)
{
	return m->op == CHANGE_MKNOD && (S_ISCHR(m->mode) || S_ISBLK(m->mode));
}

static bool is_there(struct cache *c, struct inode *dir, const char *name)
{
	struct inode *known = tree_peek(c->tree, dir, name);

	tree_unpin(c->tree, known);
	return known;
}

enum err decide_make(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	const struct making *m, struct cache_entry *out, bool *decided, struct error *e)
{
	struct pending *p = c->pending;
	struct inode *made = NULL;

	*decided = decides_names(c) && !is_device(m);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = pending_room_locked(p, call, 0, e);
	bool exists = is_there(c, dir, name);

	*decided = kind ||
		(may_decide(c, dir) && !(exists && m->op == CHANGE_CREATE && !m->exclusive));
	if (*decided && !kind && exists)
		kind = error_set(e, ERR_EXISTS, "%s", name);
	if (*decided && !kind)
		kind = make_locked(p, dir, name, m, &made, e);
	pthread_mutex_unlock(&p->lock);
	if (!*decided || kind)
		return kind;
	cache_hand_out(c, dir, name, made, out);
	tree_unpin(c->tree, made);
	return ERR_OK;
}

/* ---- Linking ---- */

static enum err link_locked(
	struct pending *p, struct inode *i, struct inode *dir, const char *name, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = { .scope.inodes = { i, dir }, .target = i, .dir = dir };
	struct change change = { .op = CHANGE_LINK, .parent2 = tree_expect(c->tree, dir) };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	AUTO_TREE_PATH struct tree_path path2 = { 0 };
	struct queued *q;
	enum err kind = check_name(name, e);

	if (!kind)
		kind = judge_dir(c, dir, name, e);
	if (!kind)
		kind = tree_path(c->tree, i, NULL, &path, e);
	if (!kind)
		kind = tree_path(c->tree, dir, name, &path2, e);
	change.path = path.text;
	change.path2 = path2.text;
	if (!kind)
		kind = pending_add_locked(p, &change, &about, &q, e);
	if (kind)
		return kind;
	q->moved[0] = i;
	tree_owe_name(c->tree, i, 1);
	tree_named(c->tree, dir, name, i, TREE_HELD);
	show_links(c, i, 1);
	show_dir(c, dir, 0);
	return ERR_OK;
}

static bool is_known(struct cache *c, struct inode *i)
{
	struct attr attr;

	return tree_attr(c->tree, i, &attr) > monotonic_ms() || tree_foreseen(c->tree, i, &attr);
}

/* Whether others may link to a file is a setting of the sandbox's kernel (protected_hardlinks). */
static bool may_link(struct cache *c, struct inode *i, struct inode *dir)
{
	return may_decide(c, dir) && is_known(c, i) && is_owner(c, i);
}

enum err decide_link(struct cache *c, const struct call *call, struct inode *i, struct inode *dir,
	const char *name, struct cache_entry *out, bool *decided, struct error *e)
{
	struct pending *p = c->pending;

	*decided = decides_names(c);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = pending_room_locked(p, call, 0, e);

	*decided = kind || may_link(c, i, dir);
	if (*decided && !kind && is_there(c, dir, name))
		kind = error_set(e, ERR_EXISTS, "%s", name);
	if (*decided && !kind)
		kind = link_locked(p, i, dir, name, e);
	pthread_mutex_unlock(&p->lock);
	if (*decided && !kind)
		cache_hand_out(c, dir, name, i, out);
	return kind;
}

/* ---- Removing ---- */

/* What is open and loses its last name must not be removed for want of another. */
static enum err check_staged(bool keep, const char *staged, const char *name, struct error *e)
{
	return keep && !staged ? error_set(e, ERR_NO_MEMORY, "%s", name) : ERR_OK;
}

/* The last handle of a staged file is closed elsewhere; here it gets its staging name. */
static enum err unlink_locked(struct pending *p, struct inode *dir, const char *name,
	struct inode *target, struct change *change, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = {
		.scope.inodes = { dir, target }, .target = target, .dir = dir
	};
	bool keep = change->op == CHANGE_UNLINK && tree_removal_begins(c->tree, target);
	AUTO_FREE char *staged = keep ? changes_staged_name(c) : NULL;
	bool is_cancelled = !keep && pending_cancel_locked(p, target);
	struct queued *q;
	enum err kind = check_staged(keep, staged, name, e);

	change->path2 = staged;
	if (!kind && !is_cancelled)
		kind = pending_add_locked(p, change, &about, &q, e);

	if (!kind && keep) {
		q->moved[0] = target;
		tree_owe_name(c->tree, target, 1);
		tree_staged(c->tree, target, take(staged));
	}
	if (!kind) {
		tree_unnamed(c->tree, dir, name);
		show_links(c, target, -1);
		show_dir(c, dir, change->op == CHANGE_RMDIR ? -1 : 0);
	}
	if (is_cancelled)
		pending_drop_locked(p, target);
	if (change->op == CHANGE_UNLINK)
		tree_removal_ends(c->tree, target);
	return kind;
}

static enum err remove_locked(struct pending *p, struct inode *dir, const char *name,
	struct inode *target, enum change_op op, struct error *e)
{
	struct cache *c = p->cache;
	struct change change = { .op = op, .parent = tree_expect(c->tree, dir) };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	enum err kind = judge_removal(c, dir, target, name, e);

	if (!kind)
		kind = tree_path(c->tree, dir, name, &path, e);
	change.path = path.text;
	return kind ? kind : unlink_locked(p, dir, name, target, &change, e);
}

/* Of a directory all entries must be known, too. */
static bool may_remove(struct cache *c, struct inode *dir, struct inode *target, enum change_op op)
{
	if (!may_decide(c, dir))
		return false;
	if (!target)
		return true;
	if (op == CHANGE_RMDIR)
		return is_dir(c, target) && may_decide(c, target);
	return !is_dir(c, target) && is_known(c, target);
}

enum err decide_remove(struct cache *c, const struct call *call, struct inode *dir,
	const char *name, enum change_op op, bool *decided, struct error *e)
{
	struct pending *p = c->pending;

	*decided = decides_names(c);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = pending_room_locked(p, call, 0, e);
	struct inode *target = tree_peek(c->tree, dir, name);

	*decided = kind || may_remove(c, dir, target, op);
	if (*decided && !kind && !target)
		kind = error_set(e, ERR_NOT_FOUND, "%s", name);
	if (*decided && !kind && op == CHANGE_RMDIR && !is_empty(c, target))
		kind = error_set(e, ERR_NOT_EMPTY, "%s", name);
	if (*decided && !kind)
		kind = remove_locked(p, dir, name, target, op, e);
	pthread_mutex_unlock(&p->lock);
	tree_unpin(c->tree, target);
	return kind;
}

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
	bool moves_dir = m->dir != m->dir2 && is_dir(c, m->moved);
	bool replaces_dir = m->replaced && !exchanges && is_dir(c, m->replaced);

	if (exchanges) {
		tree_exchanged(c->tree, m->dir, m->name, m->dir2, m->name2);
		show_links(c, m->replaced, 0);
	} else {
		tree_named(c->tree, m->dir2, m->name2, m->moved, TREE_HELD);
		tree_unnamed(c->tree, m->dir, m->name);
	}
	show_links(c, m->moved, 0);
	if (m->replaced && !exchanges)
		show_links(c, m->replaced, -1);
	bool moves_back = exchanges && m->dir != m->dir2 && is_dir(c, m->replaced);

	show_dir(c, m->dir, moves_back - (moves_dir || (replaces_dir && m->dir == m->dir2)));
	if (m->dir2 != m->dir)
		show_dir(c, m->dir2, moves_dir - (moves_back || replaces_dir));
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
	bool exchanges = m->flags & CHANGE_EXCHANGE;
	struct queued *q;
	enum err kind = pending_add_locked(p, change, &about, &q, e);

	if (kind)
		return kind;
	q->moved[0] = m->moved;
	q->moved[1] = m->replaced;
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_owe_name(c->tree, q->moved[n], 1);
	q->is_wall = is_dir(c, m->moved) || (exchanges && is_dir(c, m->replaced));
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
	bool keep = replaces && tree_removal_begins(c->tree, m->replaced);
	AUTO_FREE char *staged = keep ? changes_staged_name(c) : NULL;

	change.path = path.text;
	change.path2 = path2.text;
	if (replaces)
		change.version2 = pending_version_locked(p, m->replaced);
	change.keep = staged;
	kind = check_staged(keep, staged, m->name2, e);
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
	if (is_dir(c, m->moved))
		kind = judge_access(c, m->moved, JUDGE_WRITE, m->name, e);
	if (!kind && exchanges && is_dir(c, m->replaced))
		kind = judge_access(c, m->replaced, JUDGE_WRITE, m->name2, e);
	return kind;
}

static enum err judge_rename(struct cache *c, const struct moving *m, struct error *e)
{
	enum err kind = check_name(m->name2, e);

	if (!kind)
		kind = judge_removal(c, m->dir, m->moved, m->name, e);
	if (!kind && m->replaced)
		kind = judge_removal(c, m->dir2, m->replaced, m->name2, e);
	else if (!kind)
		kind = judge_dir(c, m->dir2, m->name2, e);
	if (kind)
		return kind;
	if (m->flags & CHANGE_NOREPLACE && m->replaced)
		return error_set(e, ERR_EXISTS, "%s", m->name2);
	if (m->replaced && !(m->flags & CHANGE_EXCHANGE) && is_dir(c, m->replaced) &&
		!is_empty(c, m->replaced))
		return error_set(e, ERR_NOT_EMPTY, "%s", m->name2);
	return judge_new_parents(c, m, e);
}

/* The kernel has checked already what goes with what, and that no directory moves into itself. */
static bool may_rename(struct cache *c, const struct moving *m)
{
	if (!may_decide(c, m->dir) || !may_decide(c, m->dir2) || !m->moved ||
		!is_known(c, m->moved))
		return false;
	if (!m->replaced)
		return !(m->flags & CHANGE_EXCHANGE);
	if (m->moved == m->replaced || !is_known(c, m->replaced))
		return false;
	return !is_dir(c, m->replaced) || m->flags & CHANGE_EXCHANGE || may_decide(c, m->replaced);
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
	*decided = decides_names(c);
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

/* ---- Attributes ---- */

/* Beyond it the sandbox's file system may say that a file cannot be so large, and whoever asks should hear of it. */
#define SIZE_MAX_DECIDED ((uint64_t)1 << 40)

/* Through a handle for writing the owner may, whatever has become of the mode since. */
static bool may_resize(struct cache *c, struct inode *i, const struct change *what)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	if (!S_ISREG(attr.mode) || what->size > SIZE_MAX_DECIDED)
		return false;
	return judge_allows(&c->sandbox.identity, &attr, JUDGE_WRITE) ||
		(what->flags & CHANGE_BY_HANDLE && is_owner(c, i));
}

static bool may_set(struct cache *c, struct inode *i, const struct change *what)
{
	bool is_root = c->sandbox.identity.uid == 0;
	struct attr attr;

	if (!is_known(c, i) || (what->set & SET_SIZE && !may_resize(c, i, what)))
		return false;
	tree_attr(c->tree, i, &attr);
	if (S_ISLNK(attr.mode) || what->set & (SET_UID | SET_GID))
		return is_root;
	return !(what->set & (SET_MODE | SET_ATIME | SET_MTIME)) || is_owner(c, i);
}

static enum err setattr_locked(
	struct pending *p, struct inode *i, struct change *change, struct error *e)
{
	struct cache *c = p->cache;
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	const struct tree_foresight f = {
		.now = cache_clock(c), .keeps_mtime = !(change->set & SET_SIZE), .set = change
	};
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct queued *q;
	enum err kind = tree_path(c->tree, i, NULL, &path, e);

	change->path = path.text;
	change->target = tree_expect(c->tree, i);
	if (change->set & SET_SIZE)
		change->version = pending_version_locked(p, i);
	if (!kind)
		kind = pending_add_locked(p, change, &about, &q, e);
	if (!kind)
		tree_foresee(c->tree, i, &f);
	return kind;
}

enum err decide_setattr(struct cache *c, const struct call *call, struct inode *i,
	const struct change *what, bool *decided, struct error *e)
{
	struct pending *p = c->pending;
	struct change change = *what;

	*decided = c->pending && !c->options.write_through;
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = pending_room_locked(p, call, 0, e);

	*decided = kind || may_set(c, i, what);
	if (*decided && !kind)
		kind = setattr_locked(p, i, &change, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* ---- At the close ---- */

enum err decide_drop_staged(struct cache *c, struct inode *i, char *staged)
{
	const struct change_about about = { .scope.inodes = { i } };
	const struct change change = { .op = CHANGE_UNLINK, .path = staged };
	struct pending *p = c->pending;
	struct error e = { 0 };
	struct queued *q;

	pthread_mutex_lock(&p->lock);
	if (pending_cancel_locked(p, i))
		pending_drop_locked(p, i);
	else if (pending_add_locked(p, &change, &about, &q, &e))
		cache_note_error(c, staged, &e);
	pthread_mutex_unlock(&p->lock);
	free(staged);
	return e.kind;
}
