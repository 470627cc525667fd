/* Local effects: what pending changes show. Also says whether an answer is still current. */
#include "cache/tree/tree_inside.h"

#include <sys/stat.h>

/* Each change moves the times on. An mtime in the future comes back by the next change. */
static struct timespec time_of_change_locked(const struct inode *i, struct timespec now)
{
	struct timespec ctime = i->attr.ctime;

	return time_next(ctime, time_next(shown_ctime_locked(i, ctime), now));
}

struct timespec tree_time_of_change(struct tree *t, struct inode *i, struct timespec now)
{
	pthread_mutex_lock(&t->lock);
	struct timespec time = time_of_change_locked(i, now);

	pthread_mutex_unlock(&t->lock);
	return time;
}

static uint64_t blocks_of(uint64_t size)
{
	return (size + 511) / 512;
}

/*
 * Programs that copy take a size without blocks for one great hole. So written bytes get blocks,
 * also inside the file, which may have a hole there. A file with all its blocks gets no more.
 */
static void apply_local_bytes(struct attr *attr, uint64_t begin, uint64_t end)
{
	uint64_t most, written = begin < end ? blocks_of(end) - begin / 512 : 0;

	if (end > attr->size)
		attr->size = end;
	most = blocks_of(attr->size);
	if (attr->blocks < most)
		attr->blocks = written < most - attr->blocks ? attr->blocks + written : most;
}

/* The added part is a hole. */
static void apply_local_size(struct attr *attr, uint64_t size)
{
	if (attr->blocks > blocks_of(size))
		attr->blocks = blocks_of(size);
	attr->size = size;
}

/* A file system that does not count the directories in a directory says 1 of each. */
static void apply_local_links(struct attr *attr, int links)
{
	if (S_ISDIR(attr->mode) ? attr->nlink > 1 : links > 0 || attr->nlink > 0)
		attr->nlink += (uint32_t)links;
}

static void apply_local_set(struct attr *attr, const struct change *set, struct timespec now)
{
	if (set->set & SET_SIZE)
		apply_local_size(attr, set->size);
	set_attr(attr, set, now);
}

static void apply_local_locked(struct tree *t, struct inode *i, const struct tree_local_effect *f)
{
	bool keeps_mtime = f->keeps_mtime || (f->set && !(f->set->set & SET_SIZE));
	struct attr attr = i->attr;
	struct timespec now = time_of_change_locked(i, f->now);

	apply_local_bytes(&attr, f->begin, f->end);
	apply_local_links(&attr, f->links);
	attr.ctime = now;
	if (!keeps_mtime)
		attr.mtime = now;
	if (f->set)
		apply_local_set(&attr, f->set, f->now);
	if (i->extra && (f->is_forgotten || (f->asker && f->asker == i->extra->delegated_to)))
		i->extra->delegated_to = 0;
	set_own_attr_locked(t, i, &attr);
	i->stable = false;
}

void tree_apply_local(struct tree *t, struct inode *i, const struct tree_local_effect *f)
{
	pthread_mutex_lock(&t->lock);
	apply_local_locked(t, i, f);
	pthread_mutex_unlock(&t->lock);
}

static void adopt_answer_locked(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms)
{
	struct attr applied = i->attr;
	struct timespec shown = shown_ctime_locked(i, applied.ctime);

	if (!adopt_locked(t, i, s, attr, until_ms)) {
		await_ctime_locked(t, i, attr->ctime);
		return;
	}
	if (is_as_applied(&applied, &i->attr))
		keep_ctime_locked(i, shown);
	note_shown_locked(t, i, attr);
	note_link_locked(t, i);
}

void tree_confirm(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	if (i->provisional)
		take_identity_locked(t, i, attr);
	bool has_more = i->changing == i->local_effects && !is_only_change_locked(s, i);

	if (!has_more || !is_same_file(&i->attr, attr))
		adopt_answer_locked(t, s, i, attr, until_ms);
	pthread_mutex_unlock(&t->lock);
}

void tree_confirm_unknown(struct tree *t, struct inode *i, struct timespec ctime)
{
	pthread_mutex_lock(&t->lock);
	take_back_locked(t, i);
	if (i->local_effects) {
		await_ctime_locked(t, i, ctime);
		note_shown_locked(t, i, &i->attr);
	}
	i->attr_until_ms = 0;
	i->complete_until_ms = 0;
	pthread_mutex_unlock(&t->lock);
}

static bool has_local_effect_locked(const struct tree *t, const struct inode *i)
{
	return (i->local_effects || i->provisional) && i->changing == i->local_effects &&
		is_attr_valid_locked(t, i, tree_now_ms());
}

bool tree_local_attr(struct tree *t, struct inode *i, struct attr *out)
{
	pthread_mutex_lock(&t->lock);
	bool known = has_local_effect_locked(t, i);

	*out = i->attr;
	show_locked(t, i, out);
	pthread_mutex_unlock(&t->lock);
	return known;
}

bool tree_base(struct tree *t, struct inode *i, struct attr *out)
{
	int64_t now_ms = tree_now_ms();

	pthread_mutex_lock(&t->lock);
	bool is_valid = is_valid_locked(t, i->attr_until_ms, now_ms) ||
		is_invalid_locked(t, i->attr_until_ms, now_ms);
	bool known = i->stable && !i->changing && S_ISREG(i->attr.mode) && is_valid &&
		!has_deferred_event_locked(t, i);

	*out = i->attr;
	i->maybe_foreign = false;
	pthread_mutex_unlock(&t->lock);
	return known;
}

bool tree_base_holds(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool holds = has_local_effect_locked(t, i) && !i->maybe_foreign && !t->has_missed;

	pthread_mutex_unlock(&t->lock);
	return holds;
}

/* ---- Attributes delegated to the kernel ---- */

static int64_t read_ahead_until_locked(const struct tree *t, const struct inode *i)
{
	return i->provisional ? INT64_MAX : valid_until_locked(t, i->attr_until_ms);
}

#define DELEGATED_TO_SEVERAL (-1)

static void note_delegated(struct inode_extra *x, pid_t asker, int64_t until_ms)
{
	bool is_alone = asker && (!x->delegated_to || x->delegated_to == asker);

	if (!x->delegated_to || x->delegated_until_ms < until_ms)
		x->delegated_until_ms = until_ms;
	x->delegated_to = is_alone ? asker : DELEGATED_TO_SEVERAL;
}

static int64_t delegated_until_locked(const struct tree *t, const struct inode *i,
	const struct tree_delegation *how, bool is_ahead)
{
	int64_t until_ms = is_ahead ? read_ahead_until_locked(t, i) : attr_until_locked(t, i);
	int64_t most_ms = how->most_ms ? tree_now_ms() + how->most_ms : INT64_MAX;

	return until_ms < most_ms ? until_ms : most_ms;
}

int64_t tree_delegate(
	struct tree *t, struct inode *i, const struct tree_delegation *how, struct attr *out)
{
	pthread_mutex_lock(&t->lock);
	bool is_ahead = how->ahead && has_local_effect_locked(t, i);
	int64_t until_ms = delegated_until_locked(t, i, how, is_ahead);

	/*
	 * The kernel drops an answer about a file that its own write or setattr overtakes.
	 */
	if (until_ms && (is_ahead || S_ISDIR(i->attr.mode))) {
		if (inode_extra_make_locked(i))
			note_delegated(i->extra, how->asker, until_ms);
		else
			until_ms = 0;
	}
	*out = i->attr;
	show_locked(t, i, out);
	kernel_has_attr_locked(t, i, until_ms);
	pthread_mutex_unlock(&t->lock);
	return until_ms;
}

void take_back_locked(struct tree *t, struct inode *i)
{
	struct inode_extra *x = i->extra;

	if (x && x->delegated_to && x->delegated_until_ms > tree_now_ms())
		tell_locked(t, &(struct tree_report){ .inode = i, .revoked = true });
	if (x)
		x->delegated_to = 0;
}

bool tree_still(struct tree *t, struct inode *i, uint64_t seen, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	bool still = is_news_locked(t, i, seen) && is_same_file(&i->attr, attr) &&
		attr_is_same_version(&i->attr, attr);

	pthread_mutex_unlock(&t->lock);
	return still;
}

/* ---- Whether changes can be local ---- */

/* Whether every name on the path is leased: the stream would report its removal. */
static bool is_way_held_locked(const struct tree *t, const struct inode *i)
{
	while (i->names && (i->provisional || i->names->until_ms == TREE_HELD))
		i = i->names->dir;
	return i == t->root;
}

/* Whether attributes and entries are leased: the stream would report their changes. */
static bool is_held_locked(const struct inode *dir)
{
	return dir->provisional ||
		(dir->attr_until_ms == TREE_HELD && dir->complete_until_ms == TREE_HELD);
}

bool tree_may_decide(struct tree *t, struct inode *dir, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool may = t->decides && t->validated_until_ms > now_ms && is_held_locked(dir) &&
		is_complete_locked(t, dir, now_ms) && is_way_held_locked(t, dir);

	pthread_mutex_unlock(&t->lock);
	return may;
}

bool tree_may_decide_once_listed(struct tree *t, struct inode *dir, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool holds_entries = dir->attr.dev == t->root->attr.dev && !dir->unwatched;
	bool may = t->validated_until_ms == TREE_HELD && holds_entries && !dir->lists_alone &&
		!is_complete_locked(t, dir, now_ms) && is_way_held_locked(t, dir);

	pthread_mutex_unlock(&t->lock);
	return may;
}
