/* Invalidates everything. */
#include "cache/tree/tree_inside.h"

/* The next audit restores leased answers, unless they are to be forgotten. */
static void invalidate_validity(int64_t *until_ms, bool forget)
{
	if (forget || *until_ms != TREE_HELD)
		*until_ms = 0;
}

static void invalidate_each_locked(struct tree *t, bool forget)
{
	FOR_EACH_INODE(t, i)
	{
		invalidate_validity(&i->attr_until_ms, forget);
		invalidate_validity(&i->complete_until_ms, forget);
	}
	for (size_t b = 0; b < t->names_room; b++)
		for (struct dentry *d = t->names[b]; d; d = d->next_in_bucket)
			invalidate_validity(&d->until_ms, forget);
	t->timed_until_ms = 0;
}

/* Without timed answers no inode has to be visited, however many are known. */
static void invalidate_locked(struct tree *t, bool forget)
{
	t->invalidated = ++t->serial; /* answers under way are older */
	t->validated_until_ms = t->root_until_ms = 0;
	invalidate_validity(&t->root->attr_until_ms, forget);
	if (forget || t->timed_until_ms > tree_now_ms())
		invalidate_each_locked(t, forget);
}

static void invalidate_all_locked(struct tree *t)
{
	invalidate_locked(t, false);
	taking_begins_locked(t);
}

void tree_invalidate_all(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	invalidate_all_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void tree_invalidate_all_but_root(struct tree *t, uint64_t seen, const struct tree_news *root)
{
	pthread_mutex_lock(&t->lock);
	bool is_news =
		is_same_file(&t->root->attr, &root->attr) && is_news_locked(t, t->root, seen);

	invalidate_all_locked(t);
	if (is_news) {
		take_news_locked(t, t->root, seen, root);
		t->root_until_ms = root->until_ms;
		/* The kernel forgets them now, since a later event would be an echo. */
		kernel_forgets_inode_locked(t, t->root, false);
	}
	pthread_mutex_unlock(&t->lock);
}

void tree_forget(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	invalidate_locked(t, true);
	/* While a stream begins nothing else is leased anyway. */
	if (t->held_from == UINT64_MAX)
		t->held_before = t->serial;
	else
		t->held_from = t->serial;
	pthread_mutex_unlock(&t->lock);
}
