#include "fs/link_nodes.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <xxhash.h>

/* A power of two. There are as many nodes as the kernel remembers names of links. */
#define BUCKETS 4096

struct link_node {
	uint32_t magic;
	bool is_ours, is_moved; /* under the table's lock, as all fields below */
	uint64_t refs;          /* lookups that the kernel has not forgotten */
	struct inode *inode;    /* with as many references of the kernel */
	struct inode *dir;      /* kept */
	char *name;
	LIST_ENTRY(link_node) by_name; /* unless it is_moved */
	LIST_ENTRY(link_node) by_inode;
};

LIST_HEAD(bucket, link_node);

struct link_nodes {
	struct cache *cache;
	pthread_mutex_t lock; /* no other lock is taken while it is held */
	struct bucket by_name[BUCKETS], by_inode[BUCKETS];
};

static struct bucket *bucket_of_name(
	struct link_nodes *n, const struct inode *dir, const char *name)
{
	uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)dir);

	return &n->by_name[hash & (BUCKETS - 1)];
}

static struct bucket *bucket_of_inode(struct link_nodes *n, const struct inode *inode)
{
	return &n->by_inode[XXH3_64bits(&inode, sizeof inode) & (BUCKETS - 1)];
}

enum err link_nodes_new(struct link_nodes **out, struct cache *cache, struct error *e)
{
	struct link_nodes *n = calloc(1, sizeof *n);

	if (!n)
		return error_set(e, ERR_NO_MEMORY, "nodes of symbolic links");
	n->cache = cache;
	pthread_mutex_init(&n->lock, NULL);
	*out = n;
	return ERR_OK;
}

static void node_free(struct link_nodes *n, struct link_node *node)
{
	cache_let_go(n->cache, node->dir);
	node->magic = 0;
	free(node->name);
	free(node);
}

void link_nodes_free(struct link_nodes *n)
{
	if (!n)
		return;
	for (size_t b = 0; b < BUCKETS; b++) {
		while (!LIST_EMPTY(&n->by_inode[b])) {
			struct link_node *node = LIST_FIRST(&n->by_inode[b]);

			LIST_REMOVE(node, by_inode);
			node_free(n, node);
		}
	}
	pthread_mutex_destroy(&n->lock);
	free(n);
}

struct link_node *link_node_of(fuse_ino_t ino)
{
	struct link_node *node = (struct link_node *)(uintptr_t)ino;

	return ino != FUSE_ROOT_ID && node->magic == LINK_NODE_MAGIC ? node : NULL;
}

struct inode *link_node_inode(const struct link_node *node)
{
	return node->inode;
}

/* ---- References of the kernel ---- */

static struct link_node *find_locked(
	struct link_nodes *n, const struct inode *inode, const struct inode *dir, const char *name)
{
	struct link_node *node;

	LIST_FOREACH(node, bucket_of_name(n, dir, name), by_name)
	{
		if (node->inode == inode && node->dir == dir && !strcmp(node->name, name))
			return node;
	}
	return NULL;
}

static struct link_node *node_new(struct link_nodes *n, const struct cache_entry *entry)
{
	struct link_node *node = calloc(1, sizeof *node);
	char *name = strdup(entry->name);

	if (!node || !name) {
		free(node);
		free(name);
		return NULL;
	}
	*node = (struct link_node){
		.magic = LINK_NODE_MAGIC, .inode = entry->inode, .dir = entry->dir, .name = name
	};
	cache_keep(n->cache, node->dir);
	return node;
}

static void enter_locked(struct link_nodes *n, struct link_node *node)
{
	LIST_INSERT_HEAD(bucket_of_name(n, node->dir, node->name), node, by_name);
	LIST_INSERT_HEAD(bucket_of_inode(n, node->inode), node, by_inode);
}

fuse_ino_t link_nodes_give(struct link_nodes *n, const struct cache_entry *entry)
{
	struct link_node *fresh = node_new(n, entry), *spare = fresh;

	pthread_mutex_lock(&n->lock);
	struct link_node *node = find_locked(n, entry->inode, entry->dir, entry->name);

	if (!node && fresh) {
		enter_locked(n, fresh);
		node = fresh;
		spare = NULL;
	}
	if (node) {
		node->refs++;
		node->is_ours = entry->link_is_ours;
	}
	pthread_mutex_unlock(&n->lock);
	if (spare)
		node_free(n, spare);
	if (!node)
		cache_forget(n->cache, entry->inode, 1);
	return (fuse_ino_t)(uintptr_t)node;
}

void link_nodes_forget(struct link_nodes *n, struct link_node *node, uint64_t count)
{
	struct inode *inode = node->inode;

	pthread_mutex_lock(&n->lock);
	node->refs -= count < node->refs ? count : node->refs;
	bool is_over = !node->refs;

	if (is_over && !node->is_moved)
		LIST_REMOVE(node, by_name);
	if (is_over)
		LIST_REMOVE(node, by_inode);
	pthread_mutex_unlock(&n->lock);
	if (is_over)
		node_free(n, node);
	cache_forget(n->cache, inode, count);
}

/* ---- Where nodes stand ---- */

struct link_place link_node_place(struct link_nodes *n, const struct link_node *node)
{
	pthread_mutex_lock(&n->lock);
	const struct link_place place = {
		.dir = node->dir, .is_ours = node->is_ours, .is_moved = node->is_moved
	};

	pthread_mutex_unlock(&n->lock);
	return place;
}

/*
 * Several nodes may have the name: one for each inode that had the name while the kernel remembered
 * the others.
 */
static void take_locked(
	struct link_nodes *n, const struct inode *dir, const char *name, struct bucket *out)
{
	struct link_node *node, *next;

	LIST_INIT(out);
	for (node = LIST_FIRST(bucket_of_name(n, dir, name)); node; node = next) {
		next = LIST_NEXT(node, by_name);
		if (node->dir != dir || strcmp(node->name, name) != 0)
			continue;
		LIST_REMOVE(node, by_name);
		LIST_INSERT_HEAD(out, node, by_name);
	}
}

/* A node that cannot take the new name is over, like a node that left its directory. */
static void put_locked(
	struct link_nodes *n, struct bucket *taken, const struct inode *dir, const char *name)
{
	while (!LIST_EMPTY(taken)) {
		struct link_node *node = LIST_FIRST(taken);
		char *copy = node->dir == dir ? strdup(name) : NULL;

		LIST_REMOVE(node, by_name);
		node->is_moved = !copy;
		if (!copy)
			continue;
		free(node->name);
		node->name = copy;
		LIST_INSERT_HEAD(bucket_of_name(n, dir, name), node, by_name);
	}
}

void link_nodes_renamed(struct link_nodes *n, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, bool exchanges)
{
	struct bucket one, two;

	pthread_mutex_lock(&n->lock);
	take_locked(n, dir, name, &one);
	LIST_INIT(&two);
	if (exchanges)
		take_locked(n, dir2, name2, &two);
	put_locked(n, &one, dir2, name2);
	put_locked(n, &two, dir, name);
	pthread_mutex_unlock(&n->lock);
}

bool link_nodes_each(struct link_nodes *n, const struct inode *inode,
	void (*tell)(void *context, fuse_ino_t ino), void *context)
{
	const struct link_node *node;
	bool is_any = false;

	pthread_mutex_lock(&n->lock);
	LIST_FOREACH(node, bucket_of_inode(n, inode), by_inode)
	{
		if (node->inode != inode)
			continue;
		is_any = true;
		tell(context, (fuse_ino_t)(uintptr_t)node);
	}
	pthread_mutex_unlock(&n->lock);
	return is_any;
}
