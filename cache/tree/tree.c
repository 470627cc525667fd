#include "cache/tree/tree_inside.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"

#include <stdlib.h>
#include <sys/random.h>

int64_t tree_now_ms(void)
{
	return monotonic_ms();
}

bool tree_wait_locked(struct tree *t, int64_t end_ms)
{
	return condition_wait_until(&t->move_ended, &t->lock, end_ms);
}

/* ---- Life ---- */

struct tree *tree_new(const struct attr *root, size_t idle_max)
{
	AUTO_FREE struct tree *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->idle_max = idle_max;
	t->held_from = UINT64_MAX;
	LIST_INIT(&t->under_way);
	TAILQ_INIT(&t->negatives);
	TAILQ_INIT(&t->deferred);
	t->root = inode_new_locked(t, root);
	if (!t->root) {
		free(t->inodes);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	condition_init(&t->move_ended);
	return take(t);
}

/*
 * A random start of our numbers: recorded numbers of earlier mounts may be shown again, and are
 * unlikely to be met.
 */
#define NUMBERS_MASK (((uint64_t)1 << 55) - 1)

void tree_remembers(struct tree *t, struct shown *shown)
{
	uint64_t from = 0;

	if (getrandom(&from, sizeof from, 0) != (ssize_t)sizeof from)
		return;
	pthread_mutex_lock(&t->lock);
	t->shown = shown;
	t->provisionals = from & NUMBERS_MASK;
	find_shown_locked(t, t->root);
	pthread_mutex_unlock(&t->lock);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	deferred_event_release_locked(t);
	unwatched_release_locked(t);
	for (size_t b = 0; b < t->names_room; b++)
		for (struct dentry *d = t->names[b], *next; d; d = next) {
			next = d->next_in_bucket;
			free(d);
		}
	for (size_t b = 0; b < t->inodes_room; b++)
		while (t->inodes[b])
			inode_free_locked(t, t->inodes[b]);
	free(t->names);
	free(t->inodes);
	pthread_cond_destroy(&t->move_ended);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

struct inode *tree_root(struct tree *t)
{
	return t->root;
}

void tree_pin(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->pins++;
	inode_wake_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_unpin(struct tree *t, struct inode *i)
{
	if (!i)
		return;
	pthread_mutex_lock(&t->lock);
	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_kernel_get(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->kernel_refs++;
	inode_wake_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_hold(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->holds++;
	pthread_mutex_unlock(&t->lock);
}

void tree_release(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->holds--;
	inodes_trim_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void tree_counts(struct tree *t, uint64_t *inodes, uint64_t *names)
{
	pthread_mutex_lock(&t->lock);
	*inodes = t->inodes_count;
	*names = t->names_count;
	pthread_mutex_unlock(&t->lock);
}
