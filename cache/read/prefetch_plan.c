/*
 * The files that a call is to bring: gathered in the tree, without those that are stored.
 */
#include "cache/read/prefetch_inside.h"

#include "cache/blocks/block_store.h"
#include "cache/session/session.h"

#include <search.h>
#include <stdlib.h>

/* This many times other files are looked for in the place of stored ones. */
#define ROUNDS_MAX 8

struct plan {
	struct prefetch *prefetch;
	const struct tree_file_query *limits;
	struct tree_file *files; /* as many as the limits allow */
	size_t count;
	uint64_t bytes;  /* bytes of all files but the first */
	size_t left_out; /* files left out because they are stored */
	/* Inodes that were gathered once, as a tree of search.h; only to be compared with. */
	void *seen;
};

static int compare_inodes(const void *a, const void *b)
{
	return (a > b) - (a < b);
}

static void keep_inode(void *i)
{
	(void)i;
}

static bool wants(void *context, const struct inode *i)
{
	const struct plan *p = context;

	return !prefetch_find_locked(p->prefetch, i, 0, 1) && !tfind(i, &p->seen, compare_inodes);
}

static size_t gather(struct plan *p, struct inode *first, struct tree_file *out)
{
	struct tree_file_query asked = *p->limits;

	asked.wants = wants;
	asked.context = p;
	return tree_gather_files(p->prefetch->cache->tree, first, monotonic_ms(), &asked, out);
}

static bool is_stored(const struct plan *p, const struct tree_file *f)
{
	const struct cache *c = p->prefetch->cache;
	uint64_t at = f->offset;
	struct attr version;

	tree_attr(c->tree, f->inode, &version);
	while (at < f->offset + f->size && block_store_has_at(c->block_store, &version, at))
		at += BLOCK_SIZE;
	return at >= f->offset + f->size;
}

static bool has_room(const struct plan *p, const struct tree_file *f)
{
	return p->count < p->limits->files_max && p->bytes + f->size <= p->limits->bytes_max;
}

static bool is_urgent(struct plan *p, const struct tree_file *f)
{
	if (!tsearch(f->inode, &p->seen, compare_inodes) || !has_room(p, f))
		return false;
	if (!is_stored(p, f))
		return true;
	p->left_out++;
	return false;
}

static void take_or_release(struct plan *p, struct tree_file *f)
{
	if (!is_urgent(p, f)) {
		tree_file_release(p->prefetch->cache->tree, f);
		return;
	}
	p->bytes += f->size;
	p->files[p->count++] = *f;
}

/* The first file is gathered each time, and taken once, stored or not. */
static void take_first(struct plan *p, struct tree_file *first)
{
	if (p->count)
		tree_file_release(p->prefetch->cache->tree, first);
	else
		p->files[p->count++] = *first;
}

/* Returns whether other files may take the places of those that were left out. */
static bool go_round(struct plan *p, struct inode *first, struct tree_file *found)
{
	size_t count = gather(p, first, found), left_out = p->left_out;

	if (count)
		take_first(p, &found[0]);
	for (size_t n = 1; n < count; n++)
		take_or_release(p, &found[n]);
	return p->left_out > left_out && p->count < p->limits->files_max;
}

struct tree_file *prefetch_plan_locked(struct prefetch *b, struct inode *first,
	const struct tree_file_query *limits, size_t *count)
{
	struct plan p = { .prefetch = b, .limits = limits };
	struct tree_file *found = calloc(limits->files_max, sizeof *found);

	p.files = calloc(limits->files_max, sizeof *p.files);
	for (int n = 0; found && p.files && n < ROUNDS_MAX && go_round(&p, first, found); n++)
		;
	tdestroy(p.seen, keep_inode);
	free(found);
	*count = p.count;
	if (p.count)
		return p.files;
	free(p.files);
	return NULL;
}
