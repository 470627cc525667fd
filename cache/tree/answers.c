/* Answers of the tree without a question to the sandbox. */
#include "cache/tree/tree_inside.h"

#include <sys/stat.h>

struct inode *tree_peek(struct tree *t, struct inode *dir, const char *name)
{
	pthread_mutex_lock(&t->lock);
	struct dentry *d = dentry_find_locked(t, dir, name);
	struct inode *i = d ? d->inode : NULL;

	if (i) {
		i->pins++;
		inode_wake_locked(t, i);
	}
	pthread_mutex_unlock(&t->lock);
	return i;
}

/* Whether only the tree's validity is missing. */
static bool name_is_invalid_locked(
	const struct tree *t, const struct inode *dir, const struct dentry *d, int64_t now_ms)
{
	if (!d)
		return dir->complete && is_invalid_locked(t, dir->complete_until_ms, now_ms);
	return is_invalid_locked(t, d->until_ms, now_ms) ||
		is_invalid_locked(t, d->inode->attr_until_ms, now_ms);
}

/* The path of `i` ends in this name from now on. */
static void use_name_locked(struct inode *i, struct dentry *d)
{
	struct dentry **at = &i->names;

	if (*at == d || i->opens || i->changing || !may_be_copied_up_locked(i))
		return;
	while (*at != d)
		at = &(*at)->next_of_inode;
	*at = d->next_of_inode;
	d->next_of_inode = i->names;
	i->names = d;
}

enum tree_answer tree_find(struct tree *t, struct inode *dir, const char *name, int64_t now_ms,
	struct inode **out, int64_t *absent_until_ms)
{
	enum tree_answer answer = TREE_UNKNOWN;

	*out = NULL;
	pthread_mutex_lock(&t->lock);
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (d && is_name_valid_locked(t, d, now_ms) && is_attr_valid_locked(t, d->inode, now_ms)) {
		*out = d->inode;
		d->inode->pins++;
		inode_wake_locked(t, d->inode);
		use_name_locked(d->inode, d);
		answer = TREE_KNOWN;
	} else if (!d && is_complete_locked(t, dir, now_ms)) {
		answer = TREE_ABSENT;
		if (absent_until_ms)
			*absent_until_ms = valid_until_locked(t, dir->complete_until_ms);
	} else if (name_is_invalid_locked(t, dir, d, now_ms)) {
		answer = TREE_INVALID;
	}
	pthread_mutex_unlock(&t->lock);
	return answer;
}

/*
 * A provisional inode is shown with the root's device, whichever file system it turns out to be on.
 */
void show_locked(const struct tree *t, const struct inode *i, struct attr *attr)
{
	const struct inode_extra *x = inode_extra_locked(i);

	if (x->shown_ino)
		attr->ino = x->shown_ino;
	if (x->shown_ino || i->provisional)
		attr->dev = t->root->attr.dev;
	if (x->staged && attr->nlink)
		attr->nlink--;
	else if (i->gone)
		attr->nlink = 0;
}

int64_t attr_until_locked(const struct tree *t, const struct inode *i)
{
	if (i->gone && !inode_extra_locked(i)->staged)
		return INT64_MAX;
	if (i->changing || i->provisional)
		return 0;
	int64_t until_ms = valid_until_locked(t, i->attr_until_ms);
	bool is_leased_root = i == t->root && i->attr_until_ms == TREE_HELD;

	return is_leased_root && until_ms < t->root_until_ms ? t->root_until_ms : until_ms;
}

int64_t tree_attr(struct tree *t, struct inode *i, struct attr *out)
{
	pthread_mutex_lock(&t->lock);
	int64_t until_ms = attr_until_locked(t, i);

	*out = i->attr;
	show_locked(t, i, out);
	pthread_mutex_unlock(&t->lock);
	return until_ms;
}

void tree_show(struct tree *t, struct inode *i, struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	show_locked(t, i, attr);
	pthread_mutex_unlock(&t->lock);
}

void tree_dot_attrs(struct tree *t, struct inode *dir, struct attr *self, struct attr *above)
{
	pthread_mutex_lock(&t->lock);
	const struct inode *up = dir->names ? dir->names->dir : dir;

	*self = dir->attr;
	show_locked(t, dir, self);
	*above = up->attr;
	show_locked(t, up, above);
	pthread_mutex_unlock(&t->lock);
}

uint64_t tree_seen(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	uint64_t seen = ++t->serial;

	pthread_mutex_unlock(&t->lock);
	return seen;
}

static struct expect expect_locked(const struct inode *i)
{
	if (i->provisional)
		return (struct expect){ 0 };
	return (struct expect){
		.dev = i->attr.dev, .ino = i->attr.ino, .btime_ns = i->attr.btime_ns
	};
}

struct expect tree_expect(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct expect x = { 0 };

	if (!inode_extra_locked(i)->replacing)
		x = expect_locked(i);
	pthread_mutex_unlock(&t->lock);
	return x;
}

struct expect tree_expect_replaced(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct expect x = expect_locked(i);

	pthread_mutex_unlock(&t->lock);
	return x;
}

bool tree_is(struct tree *t, struct inode *i, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	bool is = is_same_file(&i->attr, attr);

	pthread_mutex_unlock(&t->lock);
	return is;
}

bool tree_is_unstable(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool unstable = !i->stable && !is_maybe_foreign_locked(t, i);

	pthread_mutex_unlock(&t->lock);
	return unstable;
}

static bool has_extent(const struct inode *i)
{
	return i->attr.size || i->attr.blocks;
}

/*
 * On some disks an empty directory has no extent, either. For a directory on the root's file system
 * the root's extent decides.
 */
bool is_size_true_locked(const struct tree *t, const struct inode *i)
{
	if (!S_ISREG(i->attr.mode) || i->attr.blocks || i->provisional || !i->names)
		return true;
	const struct inode *dir = i->names->dir;

	if (has_extent(dir) || dir->provisional)
		return true;
	return i->attr.dev == t->root->attr.dev && has_extent(t->root);
}

bool tree_size_is_true(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is_true = is_size_true_locked(t, i);

	pthread_mutex_unlock(&t->lock);
	return is_true;
}

bool tree_version(struct tree *t, struct inode *i, int64_t now_ms, struct attr *out)
{
	pthread_mutex_lock(&t->lock);
	bool known = i->stable && !i->changing && S_ISREG(i->attr.mode) &&
		is_valid_locked(t, i->attr_until_ms, now_ms);

	*out = i->attr;
	pthread_mutex_unlock(&t->lock);
	return known;
}

bool tree_pages_current(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	uint64_t now = version_of(&i->attr);
	bool current =
		i->has_pages && i->pages == now && (i->stable || is_maybe_foreign_locked(t, i));

	i->has_pages = true;
	i->pages = now;
	pthread_mutex_unlock(&t->lock);
	return current;
}
