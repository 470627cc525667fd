/*
 * How deep the kernel has a directory while a rename of ours moves it.
 *
 * The tree moves a directory when the rename is made locally or applied, the kernel when the rename
 * is answered. The text of a symbolic link that is read between the two must stay inside the mount
 * from either path. A text that was read before may still be in use: a program resolves it step by
 * step, from the directory's path at each step. So the answer to a rename that brings a directory
 * up waits for such programs, and a program whose step waited for the sandbox starts again
 * (tree_has_risen).
 */
#include "cache/tree/tree_inside.h"

#include <limits.h>
#include <sys/stat.h>

/*
 * From an answer of ours to the end of the kernel's work on it: the move of a directory, or the
 * steps of a path up from the directory. Only the scheduler of this machine delays those, no
 * sandbox.
 */
#define STEP_MS 20
/* The limit of a rename that is never answered. */
#define UNANSWERED_MS TREE_KERNEL_MAX_MS

static struct moved_dir *free_place_locked(struct tree *t)
{
	int64_t now_ms = tree_now_ms();

	for (size_t n = 0; n < TREE_MOVED_DIRS; n++)
		if (t->moved_dirs[n].until_ms <= now_ms)
			return &t->moved_dirs[n];
	return NULL;
}

void places_moved_locked(struct tree *t, const struct inode *i, unsigned depth_before)
{
	unsigned depth = depth_in_locked(t, i);
	struct moved_dir *m = free_place_locked(t);

	if (!S_ISDIR(i->attr.mode) || depth == depth_before)
		return;
	if (depth < depth_before)
		t->rose = ++t->serial;
	/* Where all entries are taken, one of them stands for every directory. */
	const struct moved_dir moved = { .dir = m ? i : NULL,
		.least = !m || depth_before == UINT_MAX ? 0
			: depth < depth_before          ? depth
							: depth_before,
		.until_ms = tree_now_ms() + UNANSWERED_MS,
		.by = pthread_self(),
		.is_asked = true,
		.has_risen = depth < depth_before };

	*(m ? m : &t->moved_dirs[0]) = moved;
}

static struct tree_depth depth_range_locked(const struct tree *t, const struct inode *dir)
{
	int64_t now_ms = tree_now_ms();
	struct tree_depth range = { .depth = depth_in_locked(t, dir) };
	unsigned steps = 0;

	range.least = range.depth;
	for (const struct inode *above = dir;; above = above->names->dir, steps++) {
		for (size_t n = 0; n < TREE_MOVED_DIRS; n++) {
			const struct moved_dir *m = &t->moved_dirs[n];
			unsigned least = m->dir ? m->least + steps : 0;

			if (m->until_ms <= now_ms || (m->dir && m->dir != above))
				continue;
			range.least = least < range.least ? least : range.least;
			if (m->until_ms - now_ms > range.settles_ms)
				range.settles_ms = m->until_ms - now_ms;
		}
		if (above == t->root || !above->names)
			return range;
	}
}

struct tree_depth tree_depth_in(struct tree *t, const struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	struct tree_depth range = depth_range_locked(t, dir);

	pthread_mutex_unlock(&t->lock);
	return range;
}

void tree_climbs(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->climbed_ms = tree_now_ms();
	pthread_mutex_unlock(&t->lock);
}

int64_t tree_move_answer_waits(struct tree *t)
{
	int64_t now_ms = tree_now_ms(), wait_ms = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t n = 0; n < TREE_MOVED_DIRS; n++) {
		const struct moved_dir *m = &t->moved_dirs[n];
		bool is_mine = m->is_asked && pthread_equal(m->by, pthread_self());

		if (is_mine && m->has_risen && t->climbed_ms + STEP_MS > now_ms)
			wait_ms = t->climbed_ms + STEP_MS - now_ms;
	}
	pthread_mutex_unlock(&t->lock);
	return wait_ms;
}

void tree_move_answered(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	for (size_t n = 0; n < TREE_MOVED_DIRS; n++) {
		struct moved_dir *m = &t->moved_dirs[n];

		if (!m->is_asked || !pthread_equal(m->by, pthread_self()))
			continue;
		m->is_asked = false;
		m->until_ms = tree_now_ms() + STEP_MS;
	}
	pthread_mutex_unlock(&t->lock);
}

bool tree_has_risen(struct tree *t, const struct inode *dir, uint64_t since)
{
	bool moving;

	pthread_mutex_lock(&t->lock);
	bool has = t->rose > since && path_stamp_locked(t, dir, &moving) > since;

	pthread_mutex_unlock(&t->lock);
	return has;
}
