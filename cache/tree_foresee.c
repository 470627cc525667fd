/* Changes that the sandbox has not heard of yet, shown as if it had; and whether an answer still holds. */
#include "cache/tree_inside.h"

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Each change moves the times on, however coarse the clock; one that was set to the future comes back. */
static struct timespec next_time(struct timespec last, struct timespec now)
{
	if (is_before(last, now))
		return now;
	if (++last.tv_nsec == 1000000000)
		last = (struct timespec){ .tv_sec = last.tv_sec + 1 };
	return last;
}

/* Whoever sees a size without blocks takes the file for one great hole: what grows gets its blocks, too. */
static void foresee_locked(struct inode *i, const struct tree_foresight *f)
{
	struct attr attr = i->attr;

	if (f->end > attr.size) {
		attr.blocks += (f->end - attr.size + 511) / 512;
		attr.size = f->end;
	}
	attr.mtime = attr.ctime = next_time(attr.ctime, f->now);
	set_own_attr_locked(i, &attr);
	i->settled = false;
}

void tree_foresee(struct tree *t, struct inode *i, const struct tree_foresight *f)
{
	pthread_mutex_lock(&t->lock);
	foresee_locked(i, f);
	pthread_mutex_unlock(&t->lock);
}

void tree_adopt_and_foresee(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms, const struct tree_foresight *f)
{
	pthread_mutex_lock(&t->lock);
	adopt_locked(t, i, s, attr, until_ms);
	foresee_locked(i, f);
	pthread_mutex_unlock(&t->lock);
}

bool tree_foreseen(struct tree *t, struct inode *i, struct attr *out)
{
	pthread_mutex_lock(&t->lock);
	bool known = i->foreseen && i->changing == i->foreseen &&
		is_believed_locked(t, i->attr_until_ms, tree_now_ms());

	*out = i->attr;
	pthread_mutex_unlock(&t->lock);
	if (known)
		tree_show(t, i, out);
	return known;
}

static bool is_same_version(const struct attr *a, const struct attr *b)
{
	return a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
		a->mtime.tv_nsec == b->mtime.tv_nsec && a->ctime.tv_sec == b->ctime.tv_sec &&
		a->ctime.tv_nsec == b->ctime.tv_nsec;
}

bool tree_still(struct tree *t, struct inode *i, uint64_t seen, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	bool still = is_news_locked(t, i, seen) && is_same_file(&i->attr, attr) &&
		is_same_version(&i->attr, attr);

	pthread_mutex_unlock(&t->lock);
	return still;
}
