/* Conflicts of names: others have used the name meanwhile, and both versions stay. */
#include "cache/write/writeback_inside.h"

#include "cache/session/fault.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFLICT ".sandboxfs-conflict"
/* After so many names something else is wrong. */
#define CONFLICTS_MAX 100

/* ---- Names ---- */

/* CONFLICT, CONFLICT-2, CONFLICT-3, ... */
static void write_suffix(char out[40], unsigned number)
{
	if (number > 1)
		snprintf(out, 40, CONFLICT "-%u", number);
	else
		snprintf(out, 40, CONFLICT);
}

/*
 * The next name after `taken`, which has the suffix of `number`; 0: no suffix yet. A long name is
 * cut.
 */
static char *next_name(const char *taken, unsigned number)
{
	char old[40] = "", new[40];
	char *name;

	if (number)
		write_suffix(old, number);
	write_suffix(new, number + 1);
	size_t dir_len = (size_t)(path_name(taken) - taken);
	size_t len = strlen(taken) - dir_len - strlen(old);

	if (len + strlen(new) > PATH_NAME_MAX)
		len = PATH_NAME_MAX - strlen(new);
	if (asprintf(&name, "%.*s%s", (int)(dir_len + len), taken, new) < 0)
		return NULL;
	return name;
}

/* ---- Queueing again ---- */

/* Whether the change makes only a link: a name and its target. */
static bool makes_link(const struct change *c)
{
	return c->op == CHANGE_LINK || c->op == CHANGE_SYMLINK;
}

/*
 * Whether the name belongs to another file, or the file is not as it was when the call decided to
 * write it anew.
 */
static bool is_conflict(const struct op *q, enum err refusal)
{
	if (makes_link(&q->change))
		return refusal == ERR_EXISTS;
	if (q->change.op != CHANGE_PLACE && q->change.op != CHANGE_RENAME)
		return false;
	/* An exchange takes no name away. */
	if (q->change.op == CHANGE_RENAME && q->change.flags & CHANGE_EXCHANGE)
		return false;
	if (refusal == ERR_EXISTS || refusal == ERR_CONFLICT)
		return true;
	return q->change.op == CHANGE_PLACE && (refusal == ERR_STALE || refusal == ERR_IS_DIR);
}

/* The last op that left in an earlier mount, from `q` on. */
static struct op *last_numbered(struct op *q)
{
	struct op *next;

	while ((next = TAILQ_NEXT(q, link)) && next->sequence)
		q = next;
	return q;
}

/*
 * Gives `again` the turn of `q`: a call that waits for one waits for the other. But `again` needs a
 * new number. Ops that left in an earlier mount have lower numbers, and the sandbox would take them
 * for done if they arrived later.
 */
static void take_turn_of(struct writeback *p, struct op *again, struct op *q)
{
	TAILQ_REMOVE(&p->queue, again, link);
	TAILQ_INSERT_AFTER(&p->queue, last_numbered(q), again, link);
	again->order = q->order;
	again->is_urgent = q->is_urgent;
	again->is_small_save = q->is_small_save;
	again->is_barrier = q->is_barrier;
	again->is_inherited = q->is_inherited;
	again->conflicts = q->conflicts + 1;
}

/* Reads the contents, where the op brings them along. The caller frees `*memory`. */
static enum err bring_contents(struct writeback *p, const struct op *q, struct change *change,
	void **memory, struct error *e)
{
	if (!op_has_contents(q))
		return ERR_OK;
	*memory = malloc(change->data_len + 1);
	change->data = *memory;
	return *memory ? op_read_contents(q, p->journal, *memory, e)
		       : error_set(e, ERR_NO_MEMORY, "%s", change->path2);
}

/*
 * The op's inode belongs to others now, or is known by their name, unless it is the target of a
 * link.
 */
static enum err queue_again_locked(
	struct writeback *p, struct op *q, const char *name, struct error *e)
{
	struct change_about about = q->about;
	struct change change = q->change;
	AUTO_FREE void *contents = NULL;
	struct op *again;

	if ((change.op == CHANGE_RENAME || change.op == CHANGE_LINK) && about.target)
		change.target = tree_expect(p->cache->tree, about.target);
	if (change.op != CHANGE_LINK)
		about.target = NULL;
	about.scope.has_local_effect = false;
	*(change.op == CHANGE_SYMLINK ? &change.path : &change.path2) = name;
	change.keep = NULL;
	if (!makes_link(&change))
		change.flags = change.op == CHANGE_PLACE
			? CHANGE_EXCL | (change.flags & CHANGE_MAKES)
			: CHANGE_NOREPLACE;
	change.target2 = (struct expect){ 0 };
	change.version = change.version2 = (struct version){ 0 };
	enum err kind = bring_contents(p, q, &change, &contents, e);

	if (!kind)
		kind = writeback_add_locked(p, &change, &about, &again, e);
	if (!kind)
		take_turn_of(p, again, q);
	return kind;
}

/* Where the suffix from next_name() begins; NULL: there is none. */
static const char *suffix_of(const char *path)
{
	const char *found = NULL;

	for (const char *at = path_name(path); (at = strstr(at, CONFLICT)); at++)
		found = at;
	return found;
}

/* Whether next_name() makes `name` from `old`, or from a name made from that. */
static bool is_made_of(const char *name, const char *old)
{
	const char *suffix = suffix_of(name), *old_suffix = suffix_of(old);
	size_t len = suffix ? (size_t)(suffix - name) : 0;
	bool is_cut = strlen(path_name(name)) == PATH_NAME_MAX;

	if (!suffix || !strcmp(name, old) || strncmp(name, old, len) != 0)
		return false;
	return is_cut || !old[len] || old_suffix == old + len;
}

bool writeback_may_be_again(const struct change *again)
{
	bool moves = again->op == CHANGE_PLACE || again->op == CHANGE_RENAME;

	return moves && suffix_of(again->path2);
}

bool writeback_is_again(const struct op *q, const struct change *again)
{
	return writeback_may_be_again(again) && q->change.op == again->op &&
		!strcmp(q->change.path, again->path) && is_made_of(again->path2, q->change.path2);
}

bool writeback_keep_both_locked(
	struct writeback *p, struct op *q, enum err refusal, struct error *why)
{
	bool may_be = is_conflict(q, refusal) && q->conflicts < CONFLICTS_MAX;
	const char *taken = op_makes(q);
	AUTO_FREE char *name = may_be ? next_name(taken, q->conflicts) : NULL;

	if (!name || queue_again_locked(p, q, name, NULL))
		return false;
	fault_point("pending.conflict");
	error_set(why, ERR_CONFLICT, "%s: somebody in the sandbox wrote it, too; ours is %s", taken,
		path_name(name));
	return true;
}
