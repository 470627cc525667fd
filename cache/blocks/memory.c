#include "cache/blocks/memory.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

/* The most blocks of an average file's size, 16 KiB, that 32 MiB hold. */
#define BUCKETS 2048

struct kept {
	TAILQ_ENTRY(kept) by_use;
	SLIST_ENTRY(kept) in_bucket;
	struct block_name name;
	size_t len;
	unsigned char bytes[];
};

struct block_memory {
	pthread_mutex_t lock; /* guards what follows */
	size_t used, max;
	TAILQ_HEAD(uses, kept) by_use; /* oldest first */
	SLIST_HEAD(bucket, kept) buckets[BUCKETS];
};

enum err block_memory_new(struct block_memory **out, size_t max, struct error *e)
{
	struct block_memory *m = calloc(1, sizeof *m);

	if (!m)
		return error_set(e, ERR_NO_MEMORY, "cache");
	pthread_mutex_init(&m->lock, NULL);
	m->max = max;
	TAILQ_INIT(&m->by_use);
	*out = m;
	return ERR_OK;
}

static struct bucket *bucket_of(struct block_memory *m, const struct block_name *name)
{
	return &m->buckets[block_name_number(name) % BUCKETS];
}

static size_t cost(size_t len)
{
	return sizeof(struct kept) + len;
}

static void drop_locked(struct block_memory *m, struct kept *k)
{
	TAILQ_REMOVE(&m->by_use, k, by_use);
	SLIST_REMOVE(bucket_of(m, &k->name), k, kept, in_bucket);
	m->used -= cost(k->len);
	free(k);
}

void block_memory_free(struct block_memory *m)
{
	struct kept *k;

	if (!m)
		return;
	while ((k = TAILQ_FIRST(&m->by_use)))
		drop_locked(m, k);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static struct kept *find_locked(struct block_memory *m, const struct block_name *name)
{
	struct kept *k;

	SLIST_FOREACH(k, bucket_of(m, name), in_bucket)
	if (block_names_equal(&k->name, name))
		return k;
	return NULL;
}

size_t block_memory_used(struct block_memory *m)
{
	pthread_mutex_lock(&m->lock);
	size_t used = m->used;

	pthread_mutex_unlock(&m->lock);
	return used;
}

bool block_memory_has(struct block_memory *m, const struct block_name *name)
{
	pthread_mutex_lock(&m->lock);
	bool has = find_locked(m, name);

	pthread_mutex_unlock(&m->lock);
	return has;
}

bool block_memory_get(struct block_memory *m, const struct block_name *name, void *out, size_t len)
{
	pthread_mutex_lock(&m->lock);
	struct kept *k = find_locked(m, name);
	bool found = k && k->len == len;

	if (found) {
		memcpy(out, k->bytes, len);
		TAILQ_REMOVE(&m->by_use, k, by_use);
		TAILQ_INSERT_TAIL(&m->by_use, k, by_use);
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

static void add_locked(struct block_memory *m, struct kept *k)
{
	while (m->used + cost(k->len) > m->max && !TAILQ_EMPTY(&m->by_use))
		drop_locked(m, TAILQ_FIRST(&m->by_use));
	TAILQ_INSERT_TAIL(&m->by_use, k, by_use);
	SLIST_INSERT_HEAD(bucket_of(m, &k->name), k, in_bucket);
	m->used += cost(k->len);
}

void block_memory_put(
	struct block_memory *m, const struct block_name *name, const void *bytes, size_t len)
{
	AUTO_FREE struct kept *k = cost(len) <= m->max ? malloc(cost(len)) : NULL;

	if (!k)
		return;
	k->name = *name;
	k->len = len;
	memcpy(k->bytes, bytes, len);
	pthread_mutex_lock(&m->lock);
	if (!find_locked(m, name))
		add_locked(m, take(k));
	pthread_mutex_unlock(&m->lock);
}

void block_memory_drop(struct block_memory *m, const struct block_name *name)
{
	pthread_mutex_lock(&m->lock);
	struct kept *k = find_locked(m, name);

	if (k)
		drop_locked(m, k);
	pthread_mutex_unlock(&m->lock);
}
