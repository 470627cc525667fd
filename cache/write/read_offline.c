/*
 * Reads, while offline, of a file with changes in parts: the stored contents from before the first
 * change, and the pending contents over them.
 *
 * A read is possible only while none of the changes is answered: after an answer the sandbox has
 * another version. After an event about the file it is not possible either: a change by others
 * cannot be compared with the pending ones before these are applied.
 */
#include "cache/write/writeback_inside.h"

#include "cache/blocks/block_store.h"
#include "cache/lease/validity.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <stdlib.h>
#include <string.h>

/* ---- The contents before ---- */

void base_note_locked(struct writeback *p, struct inode *i)
{
	struct base base = { .number = ++p->bases };

	base_drop_locked(i->pending);
	if (!tree_base(p->cache->tree, i, &base.version) || writeback_has_recovered_locked(p))
		return;
	i->pending->base = malloc(sizeof base);
	if (i->pending->base)
		*i->pending->base = base;
}

void base_drop_locked(struct inode_ops *b)
{
	free(b->base);
	b->base = NULL;
}

/* ---- Whether the read is possible ---- */

/* A read while offline asks for an attempt soon, to learn when the sandbox answers again. */
static bool is_offline_locked(struct writeback *p)
{
	bool is = cache_is_offline(p->failure.kind) || tree_is_offline(p->cache->tree);

	if (is) {
		p->looked_ms = monotonic_ms();
		pthread_cond_broadcast(&p->changed);
	}
	return is;
}

static bool find_base(struct writeback *p, const struct inode *i, struct base *out)
{
	pthread_mutex_lock(&p->lock);
	const struct inode_ops *b = i->pending;
	bool found = b && b->base && !b->is_lost && is_offline_locked(p);

	if (found)
		*out = *b->base;
	pthread_mutex_unlock(&p->lock);
	return found;
}

/* Like every read while offline, this one needs a question that had no answer. */
static bool holds(struct cache *c, const struct call *call, struct inode *i)
{
	if (tree_base_holds(c->tree, i))
		return true;
	return tree_attr_is_invalid(c->tree, i, monotonic_ms()) &&
		!validity_restore(c->validity, call, NULL) && tree_base_holds(c->tree, i);
}

/* ---- Reading ---- */

/*
 * Reads the stored contents, with zeros behind their end, or behind the end that the file has now.
 */
static bool read_base(struct cache *c, struct inode *i, const struct base *base, uint64_t offset,
	void *out, size_t len)
{
	struct attr now;

	tree_attr(c->tree, i, &now);
	uint64_t end = now.size < base->version.size ? now.size : base->version.size;
	size_t wanted = end <= offset ? 0 : end - offset < len ? (size_t)(end - offset) : len;
	size_t got = 0;

	memset(out, 0, len);
	return block_store_read(c->block_store, &base->version, offset, out, wanted, &got) &&
		got == wanted;
}

static bool lay_over(struct writeback *p, struct inode *i, const struct base *base, uint64_t offset,
	void *out, size_t len, size_t *got)
{
	bool served = false;

	pthread_mutex_lock(&p->lock);
	const struct inode_ops *b = i->pending;
	bool is_same = b && b->base && b->base->number == base->number && !b->is_lost;

	if (is_same && tree_base_holds(p->cache->tree, i) &&
		writeback_lay_locked(p, i, &base->version, offset, out, len, got, &served, NULL))
		served = false;
	pthread_mutex_unlock(&p->lock);
	return served;
}

bool writeback_read_offline(struct writeback *p, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got)
{
	struct base base;

	return p && find_base(p, i, &base) && holds(p->cache, call, i) &&
		read_base(p->cache, i, &base, offset, out, len) &&
		lay_over(p, i, &base, offset, out, len, got);
}
