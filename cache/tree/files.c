/* Which small files are likely to be read after one: for cache/read/prefetch.h. */
#include "cache/tree/tree_inside.h"

#include "cache/blocks/block.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A program that reads one file of these directories seldom reads the others: installed or
 * downloaded packages, build results, the objects of a repository. Only git reads a repository's
 * own files, and does so for every command.
 */
static const char *const quiet_names[] = { ".git", "node_modules", ".venv", "venv", "__pycache__",
	"target", "dist", "build" };
/* Commits and directories are small objects, which git reads first; contents are larger objects. */
#define OBJECT_MAX 4096
/*
 * The limit for files of .git itself: git reads its index for almost every command, and for 40,000
 * files the index has this size.
 */
#define REPOSITORY_FILE_MAX ((uint64_t)4 * 1024 * 1024)

/*
 * The parts of a large file where its format keeps the index to all else. An archive has that at
 * its end, a database at its beginning, a pack of git's objects at both.
 */
#define HEAD_BYTES ((uint64_t)BLOCK_SIZE)
#define TAIL_BYTES ((uint64_t)2 * BLOCK_SIZE)

/* The limit of names looked at, so that the lock is not held for long: 10 ms. */
#define VISITS_MAX 50000
/* The limit of nested directories entered, since the stack grows with them. */
#define DEPTH_MAX 1000

struct gatherer {
	struct tree *tree;
	const struct tree_file_query *asked;
	/* The current one: others have its name but for the extension. */
	const struct dentry *current;
	int64_t now_ms;
	struct tree_file *out;
	size_t count;
	uint64_t bytes, bytes_max; /* without the first file */
	/* Current limits: sizes above the first, up to the second. */
	uint64_t above_size, file_size_max;
	unsigned visits, depth;
};

/* ---- One file ---- */

static bool is_full(const struct gatherer *g)
{
	return g->count == g->asked->files_max || g->visits >= VISITS_MAX;
}

static bool add_part_locked(struct gatherer *g, struct inode *i, uint64_t offset, uint64_t size)
{
	char *path = path_build_locked(g->tree, i, NULL);

	if (!path)
		return false;
	g->out[g->count++] = (struct tree_file){ .inode = i,
		.path = path,
		.offset = offset,
		.size = size,
		.has_end = offset + size == i->attr.size,
		.target = {
			.dev = i->attr.dev, .ino = i->attr.ino, .btime_ns = i->attr.btime_ns } };
	i->pins++;
	inode_wake_locked(g->tree, i);
	return true;
}

static bool add_locked(struct gatherer *g, struct inode *i)
{
	return add_part_locked(g, i, 0, i->attr.size);
}

static bool is_known_locked(const struct gatherer *g, const struct dentry *d)
{
	return is_valid_locked(g->tree, d->until_ms, g->now_ms) &&
		is_valid_locked(g->tree, d->inode->attr_until_ms, g->now_ms) &&
		!d->inode->changing && !d->inode->unsynced &&
		!path_is_unsynced_locked(g->tree, d->dir);
}

static bool may_come_locked(const struct gatherer *g, const struct dentry *d)
{
	const struct inode *i = d->inode;

	return is_known_locked(g, d) && S_ISREG(i->attr.mode) && i->attr.size &&
		is_size_true_locked(g->tree, i) && g->asked->wants(g->asked->context, i);
}

static void take_locked(struct gatherer *g, struct inode *i, uint64_t offset, uint64_t size)
{
	bool has_room = !is_full(g) && g->bytes + size <= g->bytes_max;

	if (has_room && add_part_locked(g, i, offset, size))
		g->bytes += size;
}

/* ---- How large ---- */

static bool is_repository_locked(const struct inode *dir)
{
	return dir->names && !strcmp(dir->names->name, ".git");
}

static bool is_gits_locked(const struct inode *i)
{
	return i->names && is_repository_locked(i->names->dir);
}

static uint64_t whole_max_locked(const struct inode *i)
{
	return is_gits_locked(i) ? REPOSITORY_FILE_MAX : TREE_WHOLE_MAX;
}

uint64_t tree_whole_max(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	uint64_t max = whole_max_locked(i);

	pthread_mutex_unlock(&t->lock);
	return max;
}

bool tree_is_gits(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is = is_gits_locked(i);

	pthread_mutex_unlock(&t->lock);
	return is;
}

/* ---- Files next to it ---- */

static size_t stem_len(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* An index and its data, or a header and its source. A walk brings such files anyway. */
static bool has_same_stem_locked(const struct gatherer *g, const struct dentry *d)
{
	const struct dentry *own = g->current;
	size_t len = stem_len(own->name);

	return g->asked->reach != TREE_FAR && d->dir == own->dir && stem_len(d->name) == len &&
		!memcmp(d->name, own->name, len);
}

static void take_ends_locked(struct gatherer *g, struct inode *i)
{
	uint64_t tail = (i->attr.size - 1) / BLOCK_SIZE * BLOCK_SIZE + BLOCK_SIZE - TAIL_BYTES;

	take_locked(g, i, 0, HEAD_BYTES);
	take_locked(g, i, tail, i->attr.size - tail);
}

static void visit_same_stem_locked(struct gatherer *g, const struct dentry *d)
{
	g->visits++;
	if (!has_same_stem_locked(g, d) || !may_come_locked(g, d))
		return;
	if (d->inode->attr.size > whole_max_locked(d->inode))
		take_ends_locked(g, d->inode);
	else
		take_locked(g, d->inode, 0, d->inode->attr.size);
}

static void visit_file_locked(struct gatherer *g, const struct dentry *d)
{
	uint64_t size = d->inode->attr.size;

	if (size > g->above_size && size <= g->file_size_max && !has_same_stem_locked(g, d) &&
		may_come_locked(g, d))
		take_locked(g, d->inode, 0, size);
}

/* ---- Directories ---- */

static bool is_quiet_name(const char *name)
{
	for (size_t n = 0; n < sizeof quiet_names / sizeof *quiet_names; n++)
		if (!strcmp(name, quiet_names[n]))
			return true;
	return false;
}

/* The directory itself, or one above it, has such a name. */
static bool is_quiet_locked(const struct inode *dir)
{
	while (dir->names && !is_quiet_name(dir->names->name))
		dir = dir->names->dir;
	return dir->names;
}

/* A mount point is not entered: /proc may be one. */
static bool may_enter_locked(const struct dentry *d)
{
	return S_ISDIR(d->inode->attr.mode) && d->inode->attr.dev == d->dir->attr.dev &&
		!is_quiet_name(d->name);
}

static void gather_below_locked(struct gatherer *g, const struct inode *dir);

/* Visits a file, or all below a directory. */
static void visit_locked(struct gatherer *g, const struct dentry *d)
{
	g->visits++;
	if (may_enter_locked(d))
		gather_below_locked(g, d->inode);
	else
		visit_file_locked(g, d);
}

static void gather_below_locked(struct gatherer *g, const struct inode *dir)
{
	if (g->depth == DEPTH_MAX)
		return;
	g->depth++;
	for (const struct dentry *d = dir->children; d && !is_full(g); d = d->sibling_next)
		visit_locked(g, d);
	g->depth--;
}

/* Visits the names after `own` in its directory, then the names before it. */
static void gather_around_locked(struct gatherer *g, const struct dentry *own,
	void (*visit)(struct gatherer *g, const struct dentry *d))
{
	const struct dentry *d;

	for (d = own->sibling_next; d && !is_full(g); d = d->sibling_next)
		visit(g, d);
	for (d = own->dir->children; d != own && !is_full(g); d = d->sibling_next)
		visit(g, d);
}

static void gather_same_stem_locked(struct gatherer *g, const struct dentry *own)
{
	g->current = own;
	gather_around_locked(g, own, visit_same_stem_locked);
}

static void visit_sibling_locked(struct gatherer *g, const struct dentry *d)
{
	g->visits++;
	visit_file_locked(g, d);
}

/* Files of usual size come first, then the larger ones, where files come whole. */
static void gather_siblings_locked(struct gatherer *g, const struct inode *first)
{
	gather_around_locked(g, first->names, visit_sibling_locked);
	g->above_size = g->file_size_max;
	g->file_size_max = whole_max_locked(first);
	if (g->file_size_max > g->above_size)
		gather_around_locked(g, first->names, visit_sibling_locked);
	g->file_size_max = g->above_size;
	g->above_size = 0;
}

/* Only small objects of a repository come along. */
static void gather_subdirs_locked(struct gatherer *g, const struct inode *dir)
{
	bool has_objects = is_repository_locked(dir);

	for (const struct dentry *d = dir->children; d && !is_full(g); d = d->sibling_next) {
		bool is_objects = has_objects && !strcmp(d->name, "objects");

		g->file_size_max = is_objects ? OBJECT_MAX : TREE_WHOLE_MAX;
		if (may_enter_locked(d))
			visit_locked(g, d);
	}
	g->file_size_max = TREE_WHOLE_MAX;
}

/* ---- A repository's pack ---- */

static const struct inode *dir_in_locked(
	const struct gatherer *g, const struct inode *dir, const char *name)
{
	const struct dentry *d = dir ? dentry_find_locked(g->tree, dir, name) : NULL;

	return d && may_enter_locked(d) ? d->inode : NULL;
}

static bool is_index_name(const char *name)
{
	return !strcmp(name + stem_len(name), ".idx");
}

static bool is_newer(const struct dentry *d, const struct dentry *than)
{
	return time_is_after(d->inode->attr.mtime, than->inode->attr.mtime);
}

/* git looks into the newest pack first. */
static const struct dentry *newest_index_locked(struct gatherer *g, const struct inode *packs)
{
	const struct dentry *newest = NULL;

	for (const struct dentry *d = packs->children; d && !is_full(g); d = d->sibling_next) {
		g->visits++;
		if (is_index_name(d->name) && (!newest || is_newer(d, newest)))
			newest = d;
	}
	return newest;
}

/*
 * The newest pack has the latest commit, if any pack has. Takes what git finds the commit by, which
 * git reads next.
 */
static void gather_pack_locked(struct gatherer *g, const struct inode *repository)
{
	const struct inode *objects = dir_in_locked(g, repository, "objects"),
			   *packs = dir_in_locked(g, objects, "pack");
	const struct dentry *index = packs ? newest_index_locked(g, packs) : NULL;

	if (!index)
		return;
	gather_same_stem_locked(g, index);
	visit_same_stem_locked(g, index);
}

/* ---- Above it ---- */

static void limit_beyond(struct gatherer *g)
{
	uint64_t max = g->bytes + g->asked->beyond_max;

	if (max < g->bytes_max)
		g->bytes_max = max;
}

/* Whether a walk that was at `before` may never leave `dir`. */
static bool is_bound_locked(const struct gatherer *g, const struct inode *dir)
{
	const struct inode *before = g->asked->before;

	return !before || is_above_locked(g->tree, dir, before);
}

/* A reader of a whole directory goes on in the directory above. */
static void gather_beyond_locked(struct gatherer *g, const struct inode *dir)
{
	bool is_beyond = false;

	while (dir != g->tree->root && dir->names && !is_full(g)) {
		if (!is_beyond && is_bound_locked(g, dir)) {
			is_beyond = true;
			limit_beyond(g);
		}
		gather_around_locked(g, dir->names, visit_locked);
		dir = dir->names->dir;
	}
}

/* ---- All files ---- */

static void gather_others_locked(struct gatherer *g, const struct inode *first)
{
	const struct inode *dir = first->names->dir;
	bool is_quiet = is_quiet_locked(dir);

	gather_same_stem_locked(g, first->names);
	if (g->asked->reach == TREE_ALONE)
		return;
	gather_siblings_locked(g, first);
	if (is_repository_locked(dir))
		gather_pack_locked(g, dir);
	if (!is_quiet || is_repository_locked(dir))
		gather_subdirs_locked(g, dir);
	if (!is_quiet && g->asked->reach == TREE_FAR)
		gather_beyond_locked(g, dir);
}

size_t tree_gather_files(struct tree *t, struct inode *first, int64_t now_ms,
	const struct tree_file_query *asked, struct tree_file *out)
{
	struct gatherer g = { .tree = t,
		.asked = asked,
		.now_ms = now_ms,
		.out = out,
		.bytes_max = asked->bytes_max,
		.file_size_max = TREE_WHOLE_MAX };

	pthread_mutex_lock(&t->lock);
	if (add_locked(&g, first) && first->names)
		gather_others_locked(&g, first);
	pthread_mutex_unlock(&t->lock);
	return g.count;
}

void tree_file_release(struct tree *t, struct tree_file *f)
{
	tree_unpin(t, f->inode);
	free(f->path);
	*f = (struct tree_file){ 0 };
}

const struct inode *tree_place(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	const struct inode *dir = i->names ? i->names->dir : NULL;

	pthread_mutex_unlock(&t->lock);
	return dir;
}
