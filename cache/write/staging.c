/* Files that are staged until they are whole. */
#include "cache/write/writeback_inside.h"

#include "cache/session/fault.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/word.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Names ---- */

/*
 * The name has the journal's word, since the file lasts as long as the journal, and a word of the
 * mount, since each mount counts from 1.
 */
char *writeback_new_name(struct writeback *p)
{
	char word[CACHE_WORD_SIZE];
	uint64_t mount;
	char *name;

	cache_word(p->cache, word);
	memcpy(&mount, p->cache->journal, sizeof mount);
	if (asprintf(&name, "/" STAGED_NEW "%s-%016llx-%llu", word, (unsigned long long)mount,
		    (unsigned long long)atomic_fetch_add(&p->cache->staged_names, 1)) < 0)
		return NULL;
	return name;
}

/* ---- Deferring ---- */

static void count_deferred(const struct op *q, int delta)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n])
			q->about.scope.inodes[n]->pending->deferred += (unsigned)delta;
}

/* Meanwhile the sandbox's state, of the directory too, is not the state that is shown. */
static void begin_locked(struct writeback *p, struct op *commit)
{
	commit->about.scope.has_local_effect = true;
	tree_change_begins(p->cache->tree, &commit->about.scope);
}

/* A sender checks the file when it next looks at the deferred ops. */
static void postpone_look(const struct writeback *p, struct inode_ops *b)
{
	b->commit_look_ms = monotonic_ms() + p->open_ms;
	b->commit_bytes = 0;
}

static enum err defer_locked(struct writeback *p, const struct change *commit,
	const struct change_about *about, struct op **out, struct error *e)
{
	fault_point("pending.staged");
	enum err kind = writeback_prepare_locked(p, commit, about, out, e);

	if (kind)
		return kind;
	op_becomes(*out, OP_DEFERRED, "its contents are not whole");
	TAILQ_INSERT_TAIL(&p->deferred, *out, link);
	count_deferred(*out, 1);
	about->target->pending->commit = *out;
	begin_locked(p, *out);
	postpone_look(p, about->target->pending);
	if (!p->is_scheduled)
		senders_wake_locked(p);
	fault_point("pending.held");
	return ERR_OK;
}

/* The file that was made empty stays as it is, with its times. */
static void become_removal(struct writeback *p, struct op *q)
{
	tree_replacing(p->cache->tree, q->about.target, -1);
	q->about.target = NULL;
	free((char *)q->change.path2);
	q->change = (struct change){ .op = CHANGE_UNLINK, .path = q->change.path };
}

/* ---- Small files in one change ---- */

/* Whether the file has at most one op since it was made. *write: this op; NULL: none. */
static bool is_just_written(const struct inode_ops *b, struct op **write)
{
	*write = b->in_queue == 2 && b->last != b->maker ? b->last : NULL;
	return b->maker && (*write || (b->in_queue == 1 && b->last == b->maker));
}

static bool are_together(struct writeback *p, const struct op *create, const struct op *last)
{
	uint64_t number =
		last->pieces_count ? last->pieces[last->pieces_count - 1].number : last->number;

	return journal_are_together(p->journal, create->number, number);
}

/* Where nothing has left yet, one change makes the file, writes it and commits it. */
static void bring_locked(struct writeback *p, struct op *commit)
{
	struct inode_ops *b = commit->about.target->pending;
	struct op *create = b->maker, *write;

	if (!commit->moved[0] || !is_just_written(b, &write) || create->is_urgent ||
		(write && write->is_urgent) || !op_may_bring(commit, create, write) ||
		!are_together(p, create, write ? write : commit) ||
		!op_bring(commit, create, write))
		return;
	commit->made = create->made;
	writeback_remove_locked(p, create, OP_ELIDED, "a part of its rename");
	if (write)
		writeback_remove_locked(p, write, OP_ELIDED, "a part of its rename");
}

static void let_go_locked(struct writeback *p, struct op *q)
{
	bool is_for_nothing = op_replaces_made(q) && !q->is_used;

	TAILQ_REMOVE(&p->deferred, q, link);
	q->about.target->pending->commit = NULL;
	if (is_for_nothing)
		become_removal(p, q);
	else
		bring_locked(p, q);
	count_deferred(q, -1);
	writeback_enter_locked(p, q);
	fault_point("pending.released");
}

void writeback_release_locked(struct writeback *p, const struct inode *i)
{
	for (struct op *q = TAILQ_FIRST(&p->deferred), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (op_touches(q, i))
			let_go_locked(p, q);
	}
}

void writeback_release_all_locked(struct writeback *p)
{
	while (!TAILQ_EMPTY(&p->deferred))
		let_go_locked(p, TAILQ_FIRST(&p->deferred));
}

void writeback_release_unsure_locked(struct writeback *p)
{
	for (struct op *q = TAILQ_FIRST(&p->deferred), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (!op_replaces_made(q))
			let_go_locked(p, q);
	}
}

void writeback_release(struct writeback *p, struct inode *i)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	if (i->pending && i->pending->commit)
		writeback_release_locked(p, i);
	pthread_mutex_unlock(&p->lock);
}

/* ---- Files that stay open ---- */

void writeback_staged_more_locked(struct inode *i, size_t len)
{
	if (i->pending && i->pending->commit)
		i->pending->commit_bytes += len;
}

/*
 * Whether the file is left open, like a log or an editor's own file. A program that copies is held
 * up by this mount alone.
 */
static bool is_left_open(const struct writeback *p, const struct inode_ops *b)
{
	bool is_held_up =
		p->moves || p->failure.kind || !writeback_has_room_locked(p, WRITEBACK_WRITE_MAX);

	return !is_held_up && b->commit_bytes < WRITEBACK_WRITE_MAX;
}

int64_t writeback_release_open_locked(struct writeback *p, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;

	for (struct op *q = TAILQ_FIRST(&p->deferred), *next; q; q = next) {
		struct inode_ops *b = q->about.target->pending;

		next = TAILQ_NEXT(q, link);
		if (b->commit_look_ms <= now_ms && is_left_open(p, b)) {
			let_go_locked(p, q);
			continue;
		}
		if (b->commit_look_ms <= now_ms)
			postpone_look(p, b);
		next_ms = b->commit_look_ms < next_ms ? b->commit_look_ms : next_ms;
	}
	return next_ms;
}

/* ---- New files ---- */

enum err writeback_stage_new_locked(struct writeback *p, struct inode *i, struct inode *dir,
	const struct change *commit, bool may_replace, struct error *e)
{
	const struct change_about about = { .scope.inodes = { dir, i }, .target = i, .dir = dir };
	struct op *q;
	enum err kind = defer_locked(p, commit, &about, &q, e);

	if (kind)
		return kind;
	q->may_replace = may_replace;
	q->moved[0] = i;
	tree_mark_unsynced(p->cache->tree, i, 1);
	return ERR_OK;
}

/* ---- Files that are written anew ---- */

static bool is_over(const struct op *commit)
{
	return commit->change.flags & CHANGE_REPLACE;
}

static enum err make_replacement_locked(
	struct writeback *p, struct inode *i, const char *staged, struct op **out, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	const struct change change = { .op = CHANGE_CREATE,
		.flags = CHANGE_EXCL,
		.path = staged,
		.mode = 0600,
		.uid = CHANGE_NO_OWNER,
		.gid = CHANGE_NO_OWNER };
	enum err kind = writeback_add_locked(p, &change, &about, out, e);

	if (!kind)
		(*out)->is_replacement = (*out)->may_wait = true;
	return kind;
}

/* Whether the file is still empty, as far as the sandbox's answers show. */
static bool is_still_empty(struct writeback *p, struct inode *i)
{
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	return S_ISREG(attr.mode) && !attr.size && attr.nlink == 1;
}

/*
 * The version of a file that was just made, whether its attributes are still valid or not. All
 * zero: the op that makes the file is pending.
 */
static struct version version_of_made(struct writeback *p, struct inode *i)
{
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	if (tree_is_provisional(p->cache->tree, i))
		return (struct version){ 0 };
	return version_shown(&attr);
}

static enum err over_locked(struct writeback *p, struct inode *i, const struct staging *s,
	const char *staged, const char *path, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	uint32_t replaces = s->is_made && is_still_empty(p, i) ? CHANGE_EXCHANGE : 0;
	const struct change commit = { .op = CHANGE_PLACE,
		.flags = CHANGE_REPLACE | CHANGE_BY_HANDLE | replaces,
		.path = staged,
		.path2 = path,
		.target2 = tree_expect(p->cache->tree, i),
		.version2 = replaces ? version_of_made(p, i) : writeback_version_locked(p, i) };
	struct op *made, *deferred;
	enum err kind = make_replacement_locked(p, i, staged, &made, e);

	if (kind)
		return kind;
	kind = defer_locked(p, &commit, &about, &deferred, e);
	if (!kind) {
		deferred->loses_conflict = s->loses_conflict;
		if (replaces) {
			tree_replacing(p->cache->tree, i, 1);
			tree_number(p->cache->tree, i);
		}
		return ERR_OK;
	}
	op_note_done(made, p->journal, NULL);
	writeback_remove_locked(p, made, OP_ELIDED, "taken back");
	return kind;
}

/*
 * A file that is staged already, to be written anew or because it has no name any more, is seen by
 * no other program.
 */
static enum err stage_locked(
	struct writeback *p, struct inode *i, const struct staging *s, struct error *e)
{
	AUTO_FREE char *staged = writeback_new_name(p);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	if (!staged)
		return error_set(e, ERR_NO_MEMORY, "a file of staging");
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	if (kind || path_is_staged(path.text) || (i->pending && i->pending->commit))
		return kind;
	if (s->loses_conflict && !is_still_empty(p, i))
		return ERR_OK;
	return over_locked(p, i, s, staged, path.text, e);
}

enum err writeback_stage_over_locked(struct writeback *p, struct inode *i, struct error *e)
{
	return stage_locked(p, i, &(struct staging){ 0 }, e);
}

void writeback_stage(
	struct writeback *p, const struct call *call, struct inode *i, const struct staging *s)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	if (!writeback_room_locked(p, call, 0, NULL))
		stage_locked(p, i, s, NULL);
	pthread_mutex_unlock(&p->lock);
}

/* ---- Ops on staged files ---- */

const char *writeback_staged_path_locked(
	struct writeback *p, struct inode *i, unsigned set, bool *is_replacement)
{
	const struct op *commit = i->pending ? i->pending->commit : NULL;

	*is_replacement = commit && is_over(commit);
	if (*is_replacement && set & ~(unsigned)(SET_SIZE | SET_ATIME | SET_MTIME)) {
		writeback_release_locked(p, i);
		*is_replacement = false;
		return NULL;
	}
	if (commit)
		i->pending->commit->is_used = true;
	return commit ? commit->change.path : NULL;
}
