/*
 * The versions that changes of a file are based on, where other ops come before them or leave in
 * parallel. At the call such a version is unknown; the answer to the other ops tells it. A change
 * that leaves late is checked against that version. The journal notes it, too, so that the next
 * mount checks the same.
 */
#include "cache/write/writeback_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the op goes on with the contents of its file, or removes it. */
static bool is_about_contents(const struct op *q)
{
	bool is_new =
		q->about.target == q->made || q->is_replacement || q->moved[0] == q->about.target;

	if (q->change.op == CHANGE_UNLINK)
		return true;
	return !is_new && q->change.op != CHANGE_COPY && op_changes_contents(q);
}

/* The file that the op goes on with, replaces or removes; NULL: none. */
static struct inode *goes_on_with(const struct op *q)
{
	if (q->change.op == CHANGE_RENAME)
		return q->change.flags & CHANGE_EXCHANGE ? NULL : q->moved[1];
	return is_about_contents(q) ? q->about.target : NULL;
}

static bool carries_on(const struct op *q)
{
	return op_sets_attributes(q) && !q->is_replacement;
}

/* The file whose version matters to the op; NULL: none. */
static struct inode *file_of(const struct op *q)
{
	return carries_on(q) ? q->about.target : goes_on_with(q);
}

/* ---- Noting in the journal ---- */

#define NOTES_MAX 64

typedef enum err (*journal_note_versions)(
	struct journal *journal, const struct journal_base *bases, size_t count, struct error *e);

/* Versions for the journal. */
struct notes {
	struct writeback *p;
	journal_note_versions tell;
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

static void note_one(struct writeback *p, const struct op *q, journal_note_versions tell,
	const struct version *version)
{
	struct notes notes = { .p = p, .tell = tell };

	note(&notes, q, version);
	flush(&notes);
}

/* ---- Ops of this mount ---- */

static bool is_same(const struct version *a, const struct version *b)
{
	return a->size == b->size && time_equals(a->ctime, b->ctime);
}

/* Whether an earlier op touches the same file. */
static bool is_behind(const struct inode *i, uint64_t sweep)
{
	return i->pending->sweep == sweep;
}

/*
 * A change under way stays as it left. But the sandbox no longer has the version that the change
 * was based on, so the journal gets the new one.
 */
static void base(struct notes *notes, struct op *q, uint64_t sweep)
{
	const struct inode *i = file_of(q);
	struct version *version = journal_base_in(&q->change);

	if (!i || is_behind(i, sweep) || !S_ISREG(i->pending->answered.mode) || q->is_overtaken ||
		writeback_version_is_gone(version))
		return;
	struct version left = version_shown(&i->pending->answered);

	if (q->state == OP_SENT ? is_same(&q->base, &left) : version->ctime.tv_sec != 0)
		return;
	if (q->state != OP_SENT)
		*version = left;
	q->base = left;
	note(notes, q, &left);
}

/* Gives the op the version of a file that it only moves. */
static void carry(struct notes *notes, struct op *q, const struct inode *i, struct version *version,
	uint64_t sweep)
{
	if (!i || is_behind(i, sweep) || !S_ISREG(i->pending->answered.mode) ||
		q->state == OP_SENT || q->is_overtaken || version->ctime.tv_sec)
		return;
	*version = version_shown(&i->pending->answered);
	note(notes, q, version);
}

/* An exchange moves two files. */
static void carry_all(
	struct notes *notes, struct notes *notes_of_other, struct op *q, uint64_t sweep)
{
	const struct inode *other = op_exchanged(q);
	const struct inode *i = op_moves_file(q) || other ? q->about.target : NULL;

	carry(notes, q, i, &q->change.version, sweep);
	carry(notes_of_other, q, other, &q->change.version2, sweep);
}

/* An op on a staged file leaves the target as it is, and a CHANGE_SYNC leaves any file as it is. */
static void mark(const struct op *q, uint64_t sweep)
{
	bool leaves = q->is_replacement || q->change.op == CHANGE_SYNC;

	for (int n = 0; n < TREE_SCOPE_MAX && !leaves; n++)
		if (q->about.scope.inodes[n])
			q->about.scope.inodes[n]->pending->sweep = sweep;
}

/* Deferred ops come after all queued ops of the same file. */
void writeback_base_next_locked(struct writeback *p)
{
	const struct op_list *const lists[] = { &p->queue, &p->deferred };
	struct notes based = { .p = p, .tell = journal_note_based };
	struct notes carried = { .p = p, .tell = journal_note_carried };
	uint64_t sweep = ++p->sweeps;
	struct op *q;

	for (int n = 0; n < 2; n++)
		TAILQ_FOREACH(q, lists[n], link)
		{
			base(&based, q, sweep);
			carry_all(&carried, &based, q, sweep);
			mark(q, sweep);
		}
	flush(&based);
	flush(&carried);
}

/* The next op that goes on with the file behind `before`, deferred or not; NULL: none. */
static struct op *follower(const struct op *before)
{
	const struct inode *i = before->about.target;
	bool is_alone = i->pending->in_queue < 2;
	struct op *q = is_alone ? NULL : TAILQ_NEXT(before, link);
	struct op *commit = i->pending->commit;

	while (q && goes_on_with(q) != i)
		q = TAILQ_NEXT(q, link);
	return q || !commit || goes_on_with(commit) != i ? q : commit;
}

/* ---- Ops of an earlier mount ---- */

/* Whether the op is checked against the version of the file, or carries it on. */
static bool has_to_do_with(const struct op *q, const struct followed *f)
{
	bool is_of = (f->path && !strcmp(q->change.path, f->path)) || op_is_of(q, f->file);

	return (op_sets_attributes(q) && is_of) || op_goes_on_with(q, f->file) ||
		(f->path && op_goes_on_at(q, f->path));
}

/*
 * The version that the op left. All zero: the version is unknown, or the file has other names. The
 * names of a file that was made here are unknown. What an earlier mount has done is told also where
 * the name is gone again.
 */
static struct version version_left(const struct op *answered, const struct change_result *r)
{
	bool is_known = r->attr.nlink == 1 || op_file(answered)->ino;
	bool has_version = r->was_over || (r->has_attr && S_ISREG(r->attr.mode));

	if (!has_version || !is_known)
		return (struct version){ 0 };
	return r->was_over ? r->left : version_shown(&r->attr);
}

/* Whether the op gives the file another name. */
static bool moves_from(const struct op *q, const char *path)
{
	return op_moves_file(q) && !strcmp(q->change.path, path);
}

static bool moves(const struct op *q, const struct followed *f)
{
	return (f->path && moves_from(q, f->path)) || (op_moves_file(q) && op_is_of(q, f->file));
}

/* The next op of the file is checked against the version that `answered` left. */
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

	/* A CHANGE_SYNC leaves the file as it is. */
	if (answered->change.op == CHANGE_SYNC)
		return;
	base_next_of(p, answered, op_leaves(answered), op_file(answered), &left);
	if (answered->change.op == CHANGE_RENAME)
		base_next_of(p, answered, other, &answered->over, &result->over);
}

/*
 * The ops that go on with the contents of one file, each by another name; hardly ever more than
 * two.
 */
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
 * Adds the first op that goes on with the file that `before` left at the path, wherever the file
 * was moved since, and one op for each other name of the file.
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

/* ---- Ops that carry a version ---- */

/* For an op of this mount there is one follower, for all names together. */
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

/* `version` is one of the versions of `q`. */
static void hand_on_to(struct writeback *p, struct op *q, struct version *version,
	journal_note_versions tell, const struct version *carried)
{
	if (q->state == OP_SENT || version->ctime.tv_sec)
		return;
	q->is_overtaken = true;
	*version = *carried;
	note_one(p, q, tell, version);
}

/* The op that gives the file its next name, before any op goes on with its contents; NULL: none. */
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

	/*
	 * The mover takes the version along, and its answer tells the version for the ops behind
	 * it.
	 */
	if (mover && mover->state != OP_SENT) {
		hand_on_to(p, mover, &mover->change.version, journal_note_carried,
			&carrier->change.version);
		return;
	}
	for (size_t n = 0; n < followers.count; n++)
		hand_on_to(p, followers.all[n], journal_base_in(&followers.all[n]->change),
			journal_note_based, &carrier->change.version);
}

/* A time in the year 36812, which no clock shows. */
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

/*
 * The journal notes the two in this order, so that at no time both ops are checked against nothing.
 */
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

/* A rename changes neither size nor mtime. */
static bool shows_others(const struct version *before, const struct change_result *r)
{
	bool is_of_then = r->was_over && r->left.ctime.tv_sec;
	struct version after = is_of_then ? r->left : version_shown(&r->attr);
	bool has_version = is_of_then || r->has_attr;

	return has_version &&
		(after.size != before->size || !time_equals(after.mtime, before->mtime));
}

void writeback_base_moved_locked(
	struct writeback *p, const struct op *mover, const struct change_result *result)
{
	if (op_moves_file(mover) && writeback_base_waits_locked(mover) &&
		shows_others(&mover->change.version, result))
		writeback_base_gone_locked(p, mover);
}
