/*
 * What a change of a file is based on where others of ours come before it: nobody knows when it is decided, but the answer
 * to those tells what they left. Should it leave late, it is held against that.
 */
#include "cache/pending_inside.h"

#include <sys/stat.h>

/* Whether it goes on with the contents of what it is about, or takes it away. */
static bool is_about_contents(const struct queued *q)
{
	bool is_new = q->about.target == q->made || q->is_beside || q->moved[0] == q->about.target;

	if (q->change.op == CHANGE_UNLINK)
		return true;
	return !is_new && q->change.op != CHANGE_COPY && queued_changes_contents(q);
}

/* The file whose version it has to do with; NULL: it does not matter, or there is none. */
static struct inode *file_of(const struct queued *q)
{
	if (q->change.op == CHANGE_RENAME)
		return q->change.flags & CHANGE_EXCHANGE ? NULL : q->moved[1];
	return is_about_contents(q) ? q->about.target : NULL;
}

static void base(struct queued *q)
{
	const struct inode *i = file_of(q);
	bool is_second = q->change.op == CHANGE_RENAME || q->change.op == CHANGE_PLACE;
	struct version *version = is_second ? &q->change.version2 : &q->change.version;
	bool is_known = i && S_ISREG(i->backlog->answered.mode) && !i->backlog->goes_beside;

	if (is_known && !version->ctime.tv_sec)
		*version = version_shown(&i->backlog->answered);
}

/* Whether something that touches the same file comes before it. */
static bool is_behind(const struct queued *q, uint64_t gathering)
{
	const struct inode *i = file_of(q);

	return i && i->backlog->gathering == gathering;
}

/* What is written beside a file leaves it as it is. */
static void mark(const struct queued *q, uint64_t gathering)
{
	for (int n = 0; n < TREE_SCOPE_MAX && !q->is_beside; n++)
		if (q->about.scope.inodes[n])
			q->about.scope.inodes[n]->backlog->gathering = gathering;
}

/* What is held back comes after all that is queued of the same file. */
void pending_base_next_locked(struct pending *p)
{
	const struct queued_list *const lists[] = { &p->queue, &p->held };
	uint64_t gathering = ++p->gatherings;
	struct queued *q;

	for (int n = 0; n < 2; n++)
		TAILQ_FOREACH(q, lists[n], link)
		{
			if (!q->is_sent && !is_behind(q, gathering))
				base(q);
			mark(q, gathering);
		}
}
