/*
 * link_nodes.h - the nodes by which the kernel knows symbolic links: one for each name.
 *
 * What a link may show depends on where the link stands, but the kernel asks for the text by node.
 * So a link is no node of its own. Each name of a link is one: a number that the kernel was given
 * for a name in a directory stands for that name as long as the kernel remembers the number,
 * whatever names the sandbox reports of the link before or later. The kernel resolves the text in
 * that very directory, and a directory of the kernel is moved by a rename through the mount alone
 * (cache/tree/tree.h). Two names of one link have the attributes of one inode, its number and its count
 * of links; so what stat(2) shows is as if they were one node.
 *
 * A rename moves a name in the kernel and keeps the number. Within a directory the node takes the
 * new name. A node that was moved to another directory is over: whoever follows it may have come
 * from either directory. A read of its text is ESTALE, by which the kernel looks the name up again
 * and gets a node that stands there.
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
/* The kernel does not ask any more. */
void link_nodes_free(struct link_nodes *n);

/* The node behind a number, NULL: the number is an inode's. */
struct link_node *link_node_of(fuse_ino_t ino);
struct inode *link_node_inode(const struct link_node *node);

/*
 * The number for the name of a symbolic link that is handed out. The kernel's reference that the
 * entry holds is the node's from then on. 0: no memory, and the reference was put back.
 */
fuse_ino_t link_nodes_give(struct link_nodes *n, const struct cache_entry *entry);
void link_nodes_forget(struct link_nodes *n, struct link_node *node, uint64_t count);

/* Where a node stands, and how its text is to be shown. */
struct link_place {
	const struct inode *dir; /* kept while the node is known */
	bool is_ours;            /* as the name was given by a user of the mount: so is the text */
	bool is_moved;           /* it is over */
};

struct link_place link_node_place(struct link_nodes *n, const struct link_node *node);

/*
 * A rename that succeeded, before it is answered: what stood at `name` in `dir` stands there now.
 */
void link_nodes_renamed(struct link_nodes *n, struct inode *dir, const char *name,
	struct inode *dir2, const char *name2, bool exchanges);

/*
 * Calls `tell` with the number of every node of the inode, under a lock: it may only queue. Locks
 * of the cache may be held, and the inode may be freed by now. Whether there was any.
 */
bool link_nodes_each(struct link_nodes *n, const struct inode *inode,
	void (*tell)(void *context, fuse_ino_t ino), void *context);
