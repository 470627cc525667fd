/*
 * What a change of a file is based on where others of ours come before it, or leave beside it: nobody knows when it is
 * decided, but the answer to those tells what they left. Should it leave late, it is held against that; the journal hears of
 * it, too, so that the next mount does the same.
 */
#include "cache/pending_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether it goes on with the contents of what it is about, or takes it away. */
static bool is_about_contents(const struct queued *q)
{
	bool is_new = q->about.target == q->made || q->is_beside || q->moved[0] == q->about.target;

	if (q->change.op == CHANGE_UNLINK)
		return true;
	return !is_new && q->change.op != CHANGE_COPY && queued_changes_contents(q);
}

/* The file that it goes on with, or takes away; NULL: none. */
static struct inode *goes_on_with(const struct queued *q)
{
	if (q->change.op == CHANGE_RENAME)
		return q->change.flags & CHANGE_EXCHANGE ? NULL : q->moved[1];
	return is_about_contents(q) ? q->about.target : NULL;
}

static bool carries_on(const struct queued *q)
{
	return queued_sets_attributes(q) && !q->is_beside;
}

/* The file whose version it has to do with; NULL: it does not matter, or there is none. */
static struct inode *file_of(const struct queued *q)
{
	return carries_on(q) ? q->about.target : goes_on_with(q);
}

/* ---- Noting ---- */

#define NOTES_MAX 64

/* What the journal is to hear of. */
struct notes {
	struct pending *p;
	struct journal_base all[NOTES_MAX];
	size_t count;
};

static void flush(struct notes *notes)
{
	if (notes->count)
		journal_note_based(notes->p->journal, notes->all, notes->count, NULL);
	notes->count = 0;
}

static void note(struct notes *notes, struct queued *q, const struct version *version)
{
	q->base = *version;
	notes->all[notes->count++] = (struct journal_base){ q->number, *version };
	if (notes->count == NOTES_MAX)
		flush(notes);
}

/* ---- In this mount ---- */

static bool is_same(const struct version *a, const struct version *b)
{
	return a->size == b->size && a->ctime.tv_sec == b->ctime.tv_sec &&
		a->ctime.tv_nsec == b->ctime.tv_nsec;
}

/* What is on its way stays as it left; what that was based on is there no more. */
static void base(struct notes *notes, struct queued *q)
{
	const struct inode *i = file_of(q);
	struct version *version = journal_base_in(&q->change);

	if (!i || !S_ISREG(i->backlog->answered.mode))
		return;
	struct version left = version_shown(&i->backlog->answered);

	if (q->is_sent ? is_same(&q->base, &left) : version->ctime.tv_sec != 0)
		return;
	if (!q->is_sent)
		*version = left;
	note(notes, q, &left);
}

/* Whether something that touches the same file comes before it. */
static bool is_behind(const struct queued *q, uint64_t gathering)
{
	const struct inode *i = file_of(q);

	return i && i->backlog->gathering == gathering;
}

/* What is written beside a file leaves it as it is, and so does a barrier. */
static void mark(const struct queued *q, uint64_t gathering)
{
	bool leaves = q->is_beside || q->change.op == CHANGE_SYNC;

	for (int n = 0; n < TREE_SCOPE_MAX && !leaves; n++)
		if (q->about.scope.inodes[n])
			q->about.scope.inodes[n]->backlog->gathering = gathering;
}

/* What is held back comes after all that is queued of the same file. */
void pending_base_next_locked(struct pending *p)
{
	const struct queued_list *const lists[] = { &p->queue, &p->held };
	struct notes notes = { .p = p };
	uint64_t gathering = ++p->gatherings;
	struct queued *q;

	for (int n = 0; n < 2; n++)
		TAILQ_FOREACH(q, lists[n], link)
		{
			if (!is_behind(q, gathering))
				base(&notes, q);
			mark(q, gathering);
		}
	flush(&notes);
}

/* What goes on with the file behind it, also where that is held back; NULL: nothing. */
static struct queued *follower(const struct queued *sets)
{
	const struct inode *i = sets->about.target;
	bool is_alone = i->backlog->owes < 2;
	struct queued *q = is_alone ? NULL : TAILQ_NEXT(sets, link);
	struct queued *place = i->backlog->place;

	while (q && goes_on_with(q) != i)
		q = TAILQ_NEXT(q, link);
	return q || !place || goes_on_with(place) != i ? q : place;
}

/* ---- Of an earlier mount ---- */

static bool names(const struct change *c, const char *path)
{
	bool is = !strcmp(c->path, path) || (c->path2 && !strcmp(c->path2, path));

	return is && c->op != CHANGE_SYNC;
}

/* Behind it another file may have that name. */
static bool moves_above(const struct queued *q, const char *path)
{
	return q->change.op == CHANGE_RENAME && queued_leads_to_path(q, path);
}

/* Whether it is held against the version of what is there, or carries it on. */
static bool has_to_do_with(const struct queued *q, const char *path)
{
	bool sets = queued_sets_attributes(q) && !strcmp(q->change.path, path);

	return sets || queued_goes_on_at(q, path);
}

static bool is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* What comes next at that name; NULL: nothing, or it cannot be told. */
static struct queued *next_there(const struct queued *before, const char *path)
{
	struct queued *q = TAILQ_NEXT(before, link);

	for (int n = 0; q && n < PENDING_CHANGES_MAX; n++, q = TAILQ_NEXT(q, link)) {
		if (q->is_recovered && names(&q->change, path))
			return q;
		if (q->is_recovered && moves_above(q, path))
			return NULL;
	}
	return NULL;
}

/* All zero: of a file with other names something else may have moved it meanwhile; or it is not known any more. */
static struct version version_left(const struct change_result *r)
{
	bool is_plain = S_ISREG(r->attr.mode) && r->attr.nlink == 1;

	if (!is_plain)
		return (struct version){ 0 };
	return r->was_over ? r->left : version_shown(&r->attr);
}

void pending_base_recovered_locked(
	struct pending *p, const struct queued *answered, const struct change_result *result)
{
	const char *path = queued_leaves(answered);
	struct version left = version_left(result);
	struct queued *q = path && left.ctime.tv_sec ? next_there(answered, path) : NULL;
	struct version *version = q ? journal_base_in(&q->change) : NULL;
	struct notes notes = { .p = p };

	if (!q || q->is_sent || !has_to_do_with(q, path) || !is_after(left.ctime, version->ctime))
		return;
	*version = left;
	note(&notes, q, version);
	flush(&notes);
}

/* Likewise, wherever it was moved before. */
static struct queued *follower_there(const struct queued *sets)
{
	char *path = strdup(sets->change.path);
	struct queued *q = TAILQ_NEXT(sets, link);

	while (path && q && !(q->is_recovered && queued_goes_on_at(q, path))) {
		if (q->is_recovered)
			path = queued_carry(q, path);
		q = TAILQ_NEXT(q, link);
	}
	if (!path)
		return NULL;
	free(path);
	return q;
}

/* ---- Attributes that carry a version ---- */

static struct queued *follower_of(const struct queued *sets)
{
	return sets->is_recovered ? follower_there(sets) : follower(sets);
}

bool pending_version_matters_locked(const struct queued *q)
{
	return !queued_carries_version(q) || !q->sequence || follower_of(q);
}

void pending_base_hand_on_locked(struct pending *p, const struct queued *carrier)
{
	struct queued *q = follower_of(carrier);
	struct version *version = q ? journal_base_in(&q->change) : NULL;
	struct notes notes = { .p = p };

	if (!q || q->is_sent || version->ctime.tv_sec)
		return;
	*version = carrier->change.version;
	note(&notes, q, version);
	flush(&notes);
}
