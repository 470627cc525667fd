/* Copies by the sandbox into a staged file. */
#include "cache/write/local_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

/*
 * Whether the file is as the sandbox has it. An op that gives or takes one of its names also moves
 * its version, and the copy would be checked against a version that is gone.
 */
static bool is_as_it_was(const struct inode *i)
{
	return writeback_leaves_alone_locked(i) && !(i->pending && i->pending->deferred);
}

/*
 * A copy can be local if its source is known, and no other program sees the target before it is
 * whole.
 */
static bool may_copy(struct cache *c, struct inode *from, struct inode *to)
{
	return to->pending && to->pending->commit && from != to && local_is_known(c, from) &&
		is_as_it_was(from);
}

static uint64_t bytes_to_copy(struct cache *c, struct inode *from, uint64_t offset, uint64_t len)
{
	struct attr attr;

	tree_attr(c->tree, from, &attr);
	if (offset >= attr.size)
		return 0;
	return len < attr.size - offset ? len : attr.size - offset;
}

void local_show_copied(
	struct cache *c, const struct change *change, struct inode *to, struct timespec now)
{
	const struct tree_local_effect f = {
		.now = now, .begin = change->offset2, .end = change->offset2 + change->length
	};

	tree_apply_local(c->tree, to, &f);
}

static enum err queue_copy_locked(struct writeback *p, struct inode *from, struct inode *to,
	struct change *change, struct error *e)
{
	struct tree *t = p->cache->tree;
	struct attr attr;
	const struct change_about about = { .scope.inodes = { to, from }, .target = to };
	const struct timespec now = writeback_stamp_locked(p, to, change);
	AUTO_TREE_PATH struct tree_path path = { 0 };
	bool is_replacement;
	struct op *q;
	enum err kind = tree_path(t, from, NULL, &path, e);

	change->path = path.text;
	change->path2 = writeback_staged_path_locked(p, to, 0, &is_replacement);
	change->target = tree_expect(t, from);
	tree_attr(t, from, &attr);
	change->version = version_shown(&attr);
	if (!kind)
		kind = writeback_add_locked(p, change, &about, &q, e);
	if (kind)
		return kind;
	q->is_replacement = is_replacement;
	q->may_wait = true;
	writeback_staged_more_locked(to, change->length);
	local_show_copied(p->cache, change, to, now);
	return ERR_OK;
}

enum err local_copy(struct cache *c, const struct call *call, const struct copying *what,
	uint64_t *copied, bool *decided, struct error *e)
{
	struct writeback *p = c->writeback;
	struct change change = { .op = CHANGE_COPY,
		.flags = CHANGE_BY_HANDLE,
		.offset = what->offset,
		.offset2 = what->offset2 };

	*decided = local_anything(c);
	if (!*decided)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = writeback_room_locked(p, call, 0, e);

	*decided = kind || may_copy(c, what->from, what->to);
	if (*decided && !kind)
		change.length = *copied = bytes_to_copy(c, what->from, what->offset, what->len);
	if (*decided && !kind && change.length)
		kind = queue_copy_locked(p, what->from, what->to, &change, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}
