#include "cache/lease/hand_out.h"

#include "cache/session/session.h"

#include <sys/stat.h>

static int64_t left_ms(int64_t until_ms)
{
	int64_t left = until_ms == INT64_MAX ? INT64_MAX : until_ms - monotonic_ms();

	return left > 0 ? left : 0;
}

/*
 * How long, in ms, the attributes of something just made here are valid: its maker asks for them at
 * once. The time is short, since the kernel takes this answer whatever was reported meanwhile.
 */
#define MADE_MS 20

static void hand_out(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	const struct tree_delegation *how, struct cache_entry *out)
{
	out->inode = i;
	out->dir = dir;
	out->name = name;
	tree_kernel_get(c->tree, i);
	out->name_valid_ms = dir ? left_ms(tree_give_name(c->tree, dir, name, i)) : 0;
	out->valid_ms = left_ms(tree_delegate(c->tree, i, how, &out->attr));
	out->link_is_ours =
		dir && S_ISLNK(out->attr.mode) && tree_link_name_is_ours(c->tree, dir, name, i);
}

void cache_hand_out(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out)
{
	hand_out(c, dir, name, i, &(struct tree_delegation){ 0 }, out);
}

void cache_hand_out_made(struct cache *c, struct inode *dir, const char *name, struct inode *i,
	struct cache_entry *out)
{
	hand_out(c, dir, name, i, &(struct tree_delegation){ .ahead = true, .most_ms = MADE_MS },
		out);
}
