/*
 * link_nodes.h - the nodes by which the kernel knows symbolic links: one for each name.
 *
 * The shown text of a link depends on where the link stands, but the kernel asks for the text by
 * node. So a link is no node of its own; each name of a link is one. A number that the kernel was
 * given for a name in a directory stands for that name as long as the kernel remembers the number,
 * whatever names the sandbox reports of the link before or later. The kernel resolves the text in
 * that very directory, and a directory of the kernel is moved only by a rename through the mount
 * (cache/tree/tree.h). Two names of one link have the attributes of one inode, its number and its
 * count of links: stat(2) shows them as if they were one node.
 *
 * A rename moves a name in the kernel and keeps the number. Within a directory the node takes the
 * new name. A node that was moved to another directory is over: the process that follows it may
 * have come from either directory. A read of its text is ESTALE. The kernel then looks the name up
 * again and gets a node that stands there.
 *
 * Any function may be called from any thread, with locks of the cache held where a comment says so.
 */
#pragma once

#include "cache/metadata.h"
#include "fs/lowlevel.h"

struct link_nodes;
struct link_node;

/* The first word of a node, where an inode has INODE_MAGIC. */
#define LINK_NODE_MAGIC 0x11d0de55u

enum err link_nodes_new(struct link_nodes **out, struct cache *cache, struct error *e);
/* To be called when the kernel sends no more requests. */
void link_nodes_free(struct link_nodes *n);

/* The node behind a number. NULL: the number is an inode's. */
struct link_node *link_node_of(fuse_ino_t ino);
struct inode *link_node_inode(const struct link_node *node);

/*
 * The number that replies use for the name of a symbolic link. Takes over the kernel's reference
 * that the entry holds. 0: no memory, and the reference was put back.
 */
fuse_ino_t link_nodes_give(struct link_nodes *n, const struct cache_entry *entry);
void link_nodes_forget(struct link_nodes *n, struct link_node *node, uint64_t count);

/* Where a node stands, and how its text is to be shown. */
struct link_place {
	const struct inode *dir; /* kept while the node is known */
	bool is_ours;            /* a user of the mount made the name, and so the text */
	bool is_moved;           /* the node is over */
};

struct link_place link_node_place(struct link_nodes *n, const struct link_node *node);

/*
 * To be called before a successful rename is answered: the object that stood at `name` in `dir` now
 * stands at `name2` in `dir2`.
 */
void link_nodes_renamed(struct link_nodes *n, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, bool exchanges);

/*
 * Calls `tell` with the number of every node of the inode, under a lock: `tell` may only queue.
 * Locks of the cache may be held, and the inode may be freed by now. Returns whether there was any
 * node.
 */
bool link_nodes_each(struct link_nodes *n, const struct inode *inode,
	void (*tell)(void *context, fuse_ino_t ino), void *context);
