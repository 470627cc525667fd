/*
 * Small files that are awaited, and those that are here: the least recently used make room.
 */
#include "cache/read/prefetch_inside.h"

#include "cache/session/session.h"

#include <stdlib.h>

static struct bulk_bucket *bucket_of(struct prefetch *b, const struct inode *i)
{
	return &b->buckets[(uintptr_t)i / sizeof *i % PREFETCH_BUCKETS];
}

static size_t cost(const struct prefetch_file *f)
{
	return sizeof *f + f->len;
}

static bool covers(const struct prefetch_file *f, uint64_t offset, uint64_t len)
{
	return offset >= f->offset && (f->has_end || offset - f->offset + len <= f->size);
}

struct prefetch_file *prefetch_find_locked(
	struct prefetch *b, const struct inode *i, uint64_t offset, uint64_t len)
{
	struct prefetch_file *f;

	LIST_FOREACH(f, bucket_of(b, i), in_bucket)
	if (f->inode == i && covers(f, offset, len))
		return f;
	return NULL;
}

struct prefetch_file *prefetch_await_locked(
	struct prefetch *b, const struct tree_file *file, struct prefetch_call *call)
{
	struct prefetch_file *f = malloc(sizeof *f);

	if (!f)
		return NULL;
	*f = (struct prefetch_file){ .inode = file->inode,
		.call = call,
		.offset = file->offset,
		.size = file->size,
		.has_end = file->has_end,
		.number = call->number };
	LIST_INSERT_HEAD(bucket_of(b, file->inode), f, in_bucket);
	return f;
}

void prefetch_forget_locked(struct prefetch *b, struct prefetch_file *f)
{
	/* Nothing is known about whether this file would be read. */
	if (f->number == b->latest.number && f->before && !f->was_read)
		b->latest.files--;
	LIST_REMOVE(f, in_bucket);
	if (!f->call) {
		TAILQ_REMOVE(&b->by_use, f, by_use);
		b->used -= cost(f);
		tree_unpin(b->cache->tree, f->inode);
	}
	free(f->bytes);
	free(f);
}

void prefetch_forget_all_locked(struct prefetch *b, const struct inode *i)
{
	struct prefetch_file *next;

	for (struct prefetch_file *f = LIST_FIRST(bucket_of(b, i)); f; f = next) {
		next = LIST_NEXT(f, in_bucket);
		if (f->inode == i && !f->call)
			prefetch_forget_locked(b, f);
	}
}

void prefetch_has_locked(
	struct prefetch *b, struct prefetch_file *f, unsigned char *bytes, size_t len)
{
	unsigned char *fitting = realloc(bytes, len);

	f->call = NULL;
	f->bytes = fitting ? fitting : bytes;
	f->len = len;
	tree_pin(b->cache->tree, f->inode);
	while (b->used + cost(f) > PREFETCH_MEMORY_MAX && !TAILQ_EMPTY(&b->by_use))
		prefetch_forget_locked(b, TAILQ_FIRST(&b->by_use));
	TAILQ_INSERT_TAIL(&b->by_use, f, by_use);
	b->used += cost(f);
}

void prefetch_use_locked(struct prefetch *b, struct prefetch_file *f)
{
	TAILQ_REMOVE(&b->by_use, f, by_use);
	TAILQ_INSERT_TAIL(&b->by_use, f, by_use);
}

void prefetch_forget_unused_locked(struct prefetch *b)
{
	struct prefetch_file *next;

	for (struct prefetch_file *f = TAILQ_FIRST(&b->by_use); f; f = next) {
		next = TAILQ_NEXT(f, by_use);
		if (!tree_may_be_read(b->cache->tree, f->inode))
			prefetch_forget_locked(b, f);
	}
}
