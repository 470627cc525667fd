/*
 * What a change of a file is based on where others of ours come before it, or leave beside it: nobody knows when it is
 * decided, but the answer to those tells what they left. Should it leave late, it is held against that; the journal hears of
 * it, too, so that the next mount does the same.
 */
#include "cache/write/writeback_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether it goes on with the contents of what it is about, or takes it away. */
static bool is_about_contents(const struct op *q)
{
	bool is_new = q->about.target == q->made || q->is_beside || q->moved[0] == q->about.target;

	if (q->change.op == CHANGE_UNLINK)
		return true;
	return !is_new && q->change.op != CHANGE_COPY && op_changes_contents(q);
}

/* The file that it goes on with, or takes away; NULL: none. */
static struct inode *goes_on_with(const struct op *q)
{
	if (q->change.op == CHANGE_RENAME)
		return q->change.flags & CHANGE_EXCHANGE ? NULL : q->moved[1];
	return is_about_contents(q) ? q->about.target : NULL;
}

static bool carries_on(const struct op *q)
{
	return op_sets_attributes(q) && !q->is_beside;
}

/* The file whose version it has to do with; NULL: it does not matter, or there is none. */
static struct inode *file_of(const struct op *q)
{
	return carries_on(q) ? q->about.target : goes_on_with(q);
}

/* ---- Noting ---- */

#define NOTES_MAX 64

typedef enum err (*journal_telling)(
	struct journal *journal, const struct journal_base *bases, size_t count, struct error *e);

/* What the journal is to hear of. */
struct notes {
	struct writeback *p;
	journal_telling tell;
	struct journal_base all[NOTES_MAX];
	size_t count;
};

static void flush(struct notes *notes)
{
	if (notes->count)
		notes->tell(notes->p->journal, notes->all, notes->count, NULL);
	notes->count = 0;
}

static void note(struct notes *notes, const struct op *q, const struct version *version)
{
	notes->all[notes->count++] = (struct journal_base){ q->number, *version };
	if (notes->count == NOTES_MAX)
		flush(notes);
}

static void note_one(struct writeback *p, const struct op *q, journal_telling tell,
	const struct version *version)
{
	struct notes notes = { .p = p, .tell = tell };

	note(&notes, q, version);
	flush(&notes);
}

/* ---- In this mount ---- */

static bool is_same(const struct version *a, const struct version *b)
{
	return a->size == b->size && time_equals(a->ctime, b->ctime);
}

/* Whether something that touches the same file comes before it. */
static bool is_behind(const struct inode *i, uint64_t gathering)
{
	return i->backlog->gathering == gathering;
}

/* What is on its way stays as it left; what that was based on is there no more. */
static void base(struct notes *notes, struct op *q, uint64_t gathering)
{
	const struct inode *i = file_of(q);
	struct version *version = journal_base_in(&q->change);

	if (!i || is_behind(i, gathering) || !S_ISREG(i->backlog->answered.mode) ||
		q->is_overtaken || writeback_version_is_gone(version))
		return;
	struct version left = version_shown(&i->backlog->answered);

	if (q->state == OP_SENT ? is_same(&q->base, &left) : version->ctime.tv_sec != 0)
		return;
	if (q->state != OP_SENT)
		*version = left;
	q->base = left;
	note(notes, q, &left);
}

/* The version of a file that it only moves. */
static void carry(struct notes *notes, struct op *q, const struct inode *i, struct version *version,
	uint64_t gathering)
{
	if (!i || is_behind(i, gathering) || !S_ISREG(i->backlog->answered.mode) ||
		q->state == OP_SENT || q->is_overtaken || version->ctime.tv_sec)
		return;
	*version = version_shown(&i->backlog->answered);
	note(notes, q, version);
}

/* Of an exchange these are two. */
static void carry_all(
	struct notes *notes, struct notes *notes_of_other, struct op *q, uint64_t gathering)
{
	const struct inode *other = op_exchanged(q);
	const struct inode *i = op_moves_file(q) || other ? q->about.target : NULL;

	carry(notes, q, i, &q->change.version, gathering);
	carry(notes_of_other, q, other, &q->change.version2, gathering);
}

/* What is written beside a file leaves it as it is, and so does a barrier. */
static void mark(const struct op *q, uint64_t gathering)
{
	bool leaves = q->is_beside || q->change.op == CHANGE_SYNC;

	for (int n = 0; n < TREE_SCOPE_MAX && !leaves; n++)
		if (q->about.scope.inodes[n])
			q->about.scope.inodes[n]->backlog->gathering = gathering;
}

/* What is held back comes after all that is queued of the same file. */
void writeback_base_next_locked(struct writeback *p)
{
	const struct op_list *const lists[] = { &p->queue, &p->held };
	struct notes based = { .p = p, .tell = journal_note_based };
	struct notes carried = { .p = p, .tell = journal_note_carried };
	uint64_t gathering = ++p->gatherings;
	struct op *q;

	for (int n = 0; n < 2; n++)
		TAILQ_FOREACH(q, lists[n], link)
		{
			base(&based, q, gathering);
			carry_all(&carried, &based, q, gathering);
			mark(q, gathering);
		}
	flush(&based);
	flush(&carried);
}

/* What goes on with the file behind it, also where that is held back; NULL: nothing. */
static struct op *follower(const struct op *before)
{
	const struct inode *i = before->about.target;
	bool is_alone = i->backlog->owes < 2;
	struct op *q = is_alone ? NULL : TAILQ_NEXT(before, link);
	struct op *place = i->backlog->place;

	while (q && goes_on_with(q) != i)
		q = TAILQ_NEXT(q, link);
	return q || !place || goes_on_with(place) != i ? q : place;
}

/* ---- Of an earlier mount ---- */

/* Whether it is held against the version of what is there, or carries it on. */
static bool has_to_do_with(const struct op *q, const struct followed *f)
{
	bool is_of = (f->path && !strcmp(q->change.path, f->path)) || op_is_of(q, f->file);

	return (op_sets_attributes(q) && is_of) || op_goes_on_with(q, f->file) ||
		(f->path && op_goes_on_at(q, f->path));
}

/*
 * All zero: it is not known any more; or the file has other names, and of a file that was made here
 * nobody knows which ones.
 */
static struct version version_left(const struct op *answered, const struct change_result *r)
{
	bool is_known = r->attr.nlink == 1 || op_file(answered)->ino;

	if (!r->has_attr || !S_ISREG(r->attr.mode) || !is_known)
		return (struct version){ 0 };
	return r->was_over ? r->left : version_shown(&r->attr);
}

/* Whether it gives the file another name. */
static bool moves_from(const struct op *q, const char *path)
{
	return op_moves_file(q) && !strcmp(q->change.path, path);
}

static bool moves(const struct op *q, const struct followed *f)
{
	return (f->path && moves_from(q, f->path)) || (op_moves_file(q) && op_is_of(q, f->file));
}

/* What comes next of the file is held against what `answered` left of it. */
static void base_next_of(struct writeback *p, const struct op *answered, const char *path,
	const struct expect *file, const struct version *left)
{
	struct followed f = { path ? strdup(path) : NULL, file };
	struct op *q = left->ctime.tv_sec ? writeback_next_of_file_locked(p, answered, &f) : NULL;
	bool is_moved = q && moves(q, &f);
	bool is_held =
		q && q->state != OP_SENT && !q->is_overtaken && (is_moved || has_to_do_with(q, &f));

	free(f.path);
	if (!is_held)
		return;
	struct version *version = is_moved ? &q->change.version : journal_base_in(&q->change);

	if (writeback_version_is_gone(version) || !time_is_after(left->ctime, version->ctime))
		return;
	*version = *left;
	note_one(p, q, is_moved ? journal_note_carried : journal_note_based, version);
}

void writeback_base_recovered_locked(
	struct writeback *p, const struct op *answered, const struct change_result *result)
{
	const struct version left = version_left(answered, result);
	const char *other = op_exchanges(answered) ? answered->change.path : answered->change.keep;

	/* A barrier leaves what it finds. */
	if (answered->change.op == CHANGE_SYNC)
		return;
	base_next_of(p, answered, op_leaves(answered), op_file(answered), &left);
	if (answered->change.op == CHANGE_RENAME)
		base_next_of(p, answered, other, &answered->over, &result->over);
}

/* Who goes on with the contents of one file, each by another name; hardly ever more than two. */
#define FOLLOWERS_MAX 16

struct followers {
	struct op *all[FOLLOWERS_MAX];
	size_t count;
};

static bool links_from(const struct op *q, const char *path)
{
	return q->change.op == CHANGE_LINK && !strcmp(q->change.path, path);
}

static bool has_one_at(const struct followers *f, const char *path)
{
	size_t n = 0;

	while (n < f->count && strcmp(f->all[n]->change.path, path) != 0)
		n++;
	return n < f->count;
}

/*
 * Adds what goes on first with what `before` left at the path, wherever that was moved since, and
 * by each other name that the file has.
 */
static void add_followers_at(struct followers *out, const struct op *before, const char *at)
{
	char *path = strdup(at);
	struct op *q = TAILQ_NEXT(before, link);

	for (; q && out->count < FOLLOWERS_MAX; q = TAILQ_NEXT(q, link)) {
		if (!q->is_recovered)
			continue;
		bool is_at = path && op_goes_on_at(q, path);
		bool is_of = is_at || op_goes_on_with(q, op_file(before));

		if (is_of && !has_one_at(out, q->change.path))
			out->all[out->count++] = q;
		if (is_at)
			break;
		if (path && links_from(q, path))
			add_followers_at(out, q, q->change.path2);
		path = path ? op_carry(q, path) : NULL;
	}
	free(path);
}

/* ---- What carries a version ---- */

/* Of this mount it is one, for all names together. */
static struct followers followers_of(const struct op *carrier)
{
	struct followers out = { 0 };

	if (carrier->about.target) {
		out.all[0] = follower(carrier);
		out.count = out.all[0] != NULL;
		return out;
	}
	add_followers_at(&out, carrier, op_leaves(carrier));
	/* A file that was linked has its first name, too. */
	if (carrier->change.op == CHANGE_LINK)
		add_followers_at(&out, carrier, carrier->change.path);
	return out;
}

bool writeback_version_matters_locked(const struct op *q)
{
	return !op_carries_version(q) || !q->sequence || followers_of(q).count;
}

/* As `version`, one of those of `q`. */
static void hand_on_to(struct writeback *p, struct op *q, struct version *version,
	journal_telling tell, const struct version *carried)
{
	if (q->state == OP_SENT || version->ctime.tv_sec)
		return;
	q->is_overtaken = true;
	*version = *carried;
	note_one(p, q, tell, version);
}

/* What gives the file its next name, before anything goes on with its contents; NULL: nothing. */
static struct op *mover_of(const struct op *carrier)
{
	const struct inode *i = carrier->about.target;
	const char *path = op_leaves(carrier);
	struct op *q = TAILQ_NEXT(carrier, link);

	for (; q; q = TAILQ_NEXT(q, link)) {
		bool is_of = i ? q->about.target == i : q->is_recovered && moves_from(q, path);

		if (is_of && op_moves_file(q))
			return q;
		if (i ? goes_on_with(q) == i : q->is_recovered && op_goes_on_at(q, path))
			return NULL;
	}
	return NULL;
}

void writeback_base_hand_on_locked(struct writeback *p, const struct op *carrier)
{
	struct followers followers = followers_of(carrier);
	struct op *mover = followers.count ? mover_of(carrier) : NULL;

	/* That moves the version itself, and its answer tells what follows. */
	if (mover && mover->state != OP_SENT) {
		hand_on_to(p, mover, &mover->change.version, journal_note_carried,
			&carrier->change.version);
		return;
	}
	for (size_t n = 0; n < followers.count; n++)
		hand_on_to(p, followers.all[n], journal_base_in(&followers.all[n]->change),
			journal_note_based, &carrier->change.version);
}

/* A time in the year 36812, which no clock has told. */
const struct version writeback_version_gone = { .ctime = { .tv_sec = (time_t)1 << 40 } };

bool writeback_version_is_gone(const struct version *version)
{
	return is_same(version, &writeback_version_gone);
}

void writeback_base_gone_locked(struct writeback *p, const struct op *carrier)
{
	struct followers followers = followers_of(carrier);

	for (size_t n = 0; n < followers.count; n++) {
		struct op *q = followers.all[n];

		if (q->state == OP_SENT)
			continue;
		*journal_base_in(&q->change) = writeback_version_gone;
		note_one(p, q, journal_note_based, &writeback_version_gone);
	}
}

/* The journal hears of that in this order, so that never both are held against nothing. */
void writeback_base_overtaken_locked(struct writeback *p, struct op *carrier)
{
	writeback_base_gone_locked(p, carrier);
	carrier->is_overtaken = true;
	carrier->change.version = (struct version){ 0 };
	note_one(p, carrier, journal_note_carried, &carrier->change.version);
}

struct op *writeback_base_waits_locked(const struct op *carrier)
{
	bool carries = op_carries_version(carrier) ||
		(op_moves_file(carrier) && carrier->change.version.ctime.tv_sec);

	return carries ? followers_of(carrier).all[0] : NULL;
}

/* Neither size nor time moves with the name. */
static bool shows_others(const struct version *before, const struct change_result *r)
{
	bool is_of_then = r->was_over && r->left.ctime.tv_sec;
	struct version after = is_of_then ? r->left : version_shown(&r->attr);

	return after.size != before->size || !time_equals(after.mtime, before->mtime);
}

void writeback_base_moved_locked(
	struct writeback *p, const struct op *mover, const struct change_result *result)
{
	if (op_moves_file(mover) && result->has_attr && writeback_base_waits_locked(mover) &&
		shows_others(&mover->change.version, result))
		writeback_base_gone_locked(p, mover);
}
