/* Setting attributes: the changes go into the queue. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <sys/stat.h>

/* A change that is about to be queued, and the text of its path. */
struct setting {
	struct change *change;
	struct tree_path path;
	bool is_staged, is_replacement;
};

static enum err describe_locked(
	struct writeback *p, struct inode *i, struct setting *s, struct error *e)
{
	struct tree *t = p->cache->tree;
	struct change *c = s->change;
	const char *staged = writeback_staged_path_locked(p, i, c->set, &s->is_replacement);
	enum err kind = tree_path(t, i, NULL, &s->path, e);

	s->is_staged = staged;
	c->path = staged ? staged : s->path.text;
	if (!staged)
		c->target = tree_expect(t, i);
	if (!staged)
		c->version = writeback_version_of_file_locked(p, i);
	return kind;
}

/* Queues the setting as a change of its own. */
static enum err add_locked(struct writeback *p, struct inode *i, const struct setting *s,
	struct op **out, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	enum err kind = writeback_add_locked(p, s->change, &about, out, e);

	if (kind)
		return kind;
	(*out)->is_replacement = s->is_replacement;
	(*out)->may_wait = s->is_staged;
	return ERR_OK;
}

/* The youngest op of the file, where no attempt has failed since; NULL: none. */
static struct op *youngest_locked(const struct writeback *p, const struct inode *i)
{
	struct op *last = i->pending ? i->pending->last : NULL;

	return last && last->failures == writeback_failures_locked(p) ? last : NULL;
}

/* Whether the youngest op can set these attributes, too. */
static bool may_go_on_locked(
	const struct writeback *p, const struct inode *i, const struct setting *s)
{
	const struct op *last = youngest_locked(p, i);

	return last && op_may_set_more(last, s->change) &&
		last->is_replacement == s->is_replacement;
}

static enum err go_on_locked(
	struct writeback *p, struct op *last, const struct change *change, struct error *e)
{
	size_t cost = op_cost(last);
	struct journal_extent where;
	uint64_t number;
	enum err kind = journal_add(p->journal, change, &number, &where, e);

	if (!kind && !op_set_more(last, change, number)) {
		journal_note_done(p->journal, &number, 1, NULL);
		kind = error_set(e, ERR_NO_MEMORY, "a change");
	}
	last->is_unasked = false;
	p->cost += op_cost(last) - cost;
	p->last_ms = monotonic_ms();
	return kind;
}

enum err writeback_set_unseen_locked(struct writeback *p, struct inode *i, struct change *change,
	struct op **out, struct error *e)
{
	struct setting s = { .change = change };
	enum err kind = describe_locked(p, i, &s, e);

	struct op *last = youngest_locked(p, i);

	if (!kind && last && op_may_set_mtime(last, change)) {
		*out = last;
		kind = go_on_locked(p, last, change, e);
	} else if (!kind) {
		kind = add_locked(p, i, &s, out, e);
		if (!kind)
			(*out)->is_unasked = true;
	}
	tree_path_release(&s.path);
	return kind;
}

static enum err set_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e)
{
	struct setting s = { .change = change };
	struct op *q;
	enum err kind = describe_locked(p, i, &s, e);

	if (!kind && may_go_on_locked(p, i, &s))
		kind = go_on_locked(p, i->pending->last, change, e);
	else if (!kind)
		kind = add_locked(p, i, &s, &q, e);
	tree_path_release(&s.path);
	return kind;
}

static void set_to_now(struct timespec *time, struct timespec now)
{
	if (time->tv_nsec == UTIME_NOW)
		*time = now;
}

/*
 * The time of the change. The sandbox gets it wherever it would take its own time, which is later.
 */
static struct timespec time_of_setting_locked(
	struct writeback *p, struct inode *i, struct change *change)
{
	struct change stamped = { 0 };
	struct timespec now = writeback_stamp_locked(p, i, &stamped);

	if (!stamped.set)
		return now;
	if (change->set & SET_ATIME)
		set_to_now(&change->atime, now);
	if (change->set & SET_MTIME)
		set_to_now(&change->mtime, now);
	else if (change->set & SET_SIZE) {
		change->set |= SET_MTIME;
		change->mtime = now;
	}
	return now;
}

enum err writeback_set_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e)
{
	const struct tree_local_effect f = { .now = time_of_setting_locked(p, i, change),
		.keeps_mtime = !(change->set & SET_SIZE),
		.set = change };
	enum err kind = set_locked(p, i, change, e);

	if (!kind)
		tree_apply_local(p->cache->tree, i, &f);
	return kind;
}
