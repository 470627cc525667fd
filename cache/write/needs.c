/*
 * Needs: which earlier changes of its batch a change needs, where others may have changed a file
 * since the call.
 *
 * Only the first change of a file has the version from its call: the later ones are applied where
 * the first one was. So each change needs the one before it of the same file, by whatever name.
 * Files of an earlier mount are known by name alone: a name is followed back through the renames of
 * the file and of the directories above it.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"

#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>

/* ---- The file ---- */

/* The file that a change goes on with, removes or replaces, without a version of it. */
struct concerned {
	const struct inode *inode; /* NULL: none, or of an earlier mount */
	const char *path;          /* for an op of an earlier mount; NULL: none */
	const struct expect *file; /* the expected file at `path` */
};

static bool takes_place(const struct change *c)
{
	return (c->op == CHANGE_RENAME || c->op == CHANGE_PLACE) && !op_goes_by_name(c) &&
		!c->version2.ctime.tv_sec;
}

static bool removes(const struct change *c)
{
	return c->op == CHANGE_UNLINK && !c->version.ctime.tv_sec;
}

static bool goes_on(const struct op *q, const struct change *c)
{
	return op_changes_contents(q) && c->op != CHANGE_COPY && c->op != CHANGE_PLACE &&
		!q->is_replacement && !c->version.ctime.tv_sec;
}

static struct concerned concerned_by(const struct op *q, const struct change *c)
{
	bool is_over = c->op == CHANGE_PLACE && !q->moved[0];
	bool is_at_path = removes(c) || goes_on(q, c);

	if (!is_at_path && !takes_place(c))
		return (struct concerned){ 0 };
	if (q->is_recovered)
		return (struct concerned){ .path = is_at_path ? c->path : c->path2,
			.file = is_at_path || c->op == CHANGE_PLACE ? op_file(q) : &q->over };
	return (struct concerned){ .inode = is_at_path || is_over ? q->about.target : q->moved[1] };
}

/* ---- Changes of the file ---- */

static bool is_of_inode(const struct op *q, const struct inode *i)
{
	bool tells = q->made || q->moved[0] || op_changes_contents(q) || op_carries_version(q);

	return !q->is_replacement && ((q->about.target == i && tells) || op_exchanged(q) == i);
}

/*
 * Whether the change is applied only where the file has the version of the call. A file gets a name
 * whatever others did to the file.
 */
static bool is_held(const struct op *q)
{
	return q->change.op == CHANGE_UNLINK || op_changes_contents(q) || op_carries_version(q);
}

/*
 * An exchange is checked against the versions that it has: of one file, of the other, or of both.
 */
static bool is_held_as(const struct op *q, const struct version *version)
{
	return op_exchanges(q) ? version->ctime.tv_sec != 0 : is_held(q);
}

static bool is_held_over(const struct op *q, const struct version *version2)
{
	return !op_exchanges(q) || version2->ctime.tv_sec;
}

static bool is_held_of_inode(const struct op *q, const struct change *c, const struct inode *i)
{
	bool is_of = q->about.target == i && is_held_as(q, &c->version);
	bool is_over = q->moved[1] == i && is_held_over(q, &c->version2);

	return !q->is_replacement && (is_of || is_over);
}

static bool is_held_of_file(const struct op *q, const struct change *c, const struct expect *file)
{
	bool is_of = op_is_of(q, file) && is_held_as(q, &c->version);
	bool is_over = q->change.op == CHANGE_RENAME && op_is_over(q, file) &&
		is_held_over(q, &c->version2);

	return q->is_recovered && (is_of || is_over);
}

static size_t last_of_inode(const struct batch *b, size_t count, const struct inode *i)
{
	while (count && !is_of_inode(b->ops[count - 1], i))
		count--;
	return count;
}

/* Skips steps, from the first `count` backwards, that have nothing to do with the path. */
static size_t skip_others(const struct steps *steps, const char *path, size_t count)
{
	return steps ? steps_about(steps, path, count) : count;
}

/* *is_moved: a directory above the path was moved in between. */
static size_t last_at_path(const struct batch *b, size_t count, const char *path,
	const struct steps *steps, bool *is_moved)
{
	char *at = strdup(path);

	*is_moved = false;
	while (at && (count = skip_others(steps, at, count)) > 0) {
		const struct op *q = b->ops[count - 1];

		if (q->is_recovered && op_tells_file_at(q, at))
			break;
		*is_moved |= op_moves_above(q, at);
		at = op_carry_back(q, at);
		count--;
	}
	bool is_found = at;

	free(at);
	return is_found ? count : 0;
}

/* The last change that is checked against a version of the file, by whatever name. */
static size_t last_held(const struct batch *b, size_t count, const struct concerned *x)
{
	bool is_known = x->inode || (x->file && x->file->ino);

	for (count = is_known ? count : 0; count; count--) {
		const struct op *q = b->ops[count - 1];
		const struct change *c = &b->changes[count - 1];

		if (x->inode ? is_held_of_inode(q, c, x->inode) : is_held_of_file(q, c, x->file))
			break;
	}
	return count;
}

/*
 * The last of the first `count` changes that makes the file what it is; 0: none. Steps count from
 * 1.
 */
static size_t last_of(
	const struct batch *b, size_t count, const struct concerned *x, const struct steps *steps)
{
	bool is_moved;

	if (x->path)
		return last_at_path(b, count, x->path, steps, &is_moved);
	return x->inode ? last_of_inode(b, count, x->inode) : 0;
}

/* ---- Needs ---- */

/*
 * A change can name only one other that it needs. So its chain of needs and the other's chain are
 * sorted into one: each change then needs the one before it.
 */
static void need_also(struct batch *b, size_t step, size_t other)
{
	while (other) {
		size_t next = b->changes[step - 1].needs;

		if (next == other)
			return;
		if (next < other) {
			b->changes[step - 1].needs = (uint32_t)other;
			step = other;
			other = next;
		} else {
			step = next;
		}
	}
}

/*
 * After a kill: the sandbox has the file that gets contents, and nobody knows what these were
 * decided on. Contents that are there already change nothing, and nobody else is at what is staged.
 * What is removed or replaced may be a link, of which no version is kept.
 */
static bool lacks_base(const struct op *q, const struct concerned *x)
{
	bool is_there = x->file && x->file->ino && !path_is_staged(x->path);

	return is_there && op_changes_contents(q) && !q->is_verified;
}

/*
 * After a kill: a file gets its other name, or attributes, where it is the file of the call. What
 * has its name may be another one, also where a directory above was moved since.
 */
static void need_named(struct batch *b, size_t step, const struct steps *steps)
{
	const struct op *q = b->ops[step - 1];
	bool moves = q->change.op == CHANGE_RENAME || q->change.op == CHANGE_LINK;
	bool is_moved;

	if (!q->is_recovered || !(moves || op_sets_attributes(q)))
		return;
	need_also(b, step, last_at_path(b, step - 1, q->change.path, steps, &is_moved));
	if (op_exchanges(q))
		need_also(b, step, last_at_path(b, step - 1, q->change.path2, steps, &is_moved));
}

void batch_needs_file(struct batch *b, size_t step, const struct steps *steps)
{
	struct change *c = &b->changes[step - 1];
	const struct concerned x = concerned_by(b->ops[step - 1], c);

	size_t last = last_of(b, step - 1, &x, steps), held = last_held(b, step - 1, &x);

	need_also(b, step, last);
	need_also(b, step, held);
	need_named(b, step, steps);
	if (!last && !held && lacks_base(b->ops[step - 1], &x))
		*journal_base_in(c) = writeback_version_gone;
}

/* The path of the file whose version an op of an earlier mount is based on; NULL: none. */
static const char *based_at(const struct op *q)
{
	const struct change *c = &q->change;
	bool takes = c->op == CHANGE_RENAME || c->op == CHANGE_PLACE;

	return !q->is_recovered ? NULL : takes ? c->path2 : c->path;
}

bool batch_tells_file_of(const struct batch *b, const struct op *q, const struct steps *steps)
{
	const char *path = based_at(q);
	bool is_moved;

	return path && last_at_path(b, b->count, path, steps, &is_moved);
}

bool batch_moves_file_of(const struct batch *b, const struct op *q, const struct steps *steps)
{
	const char *path = b->renames ? based_at(q) : NULL;
	bool is_moved;

	return path && (op_goes_on_at(q, path) || op_sets_attributes(q)) &&
		last_at_path(b, b->count, path, steps, &is_moved) && is_moved;
}
