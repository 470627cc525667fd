#include "cache/write/op.h"

#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_text(const char **text)
{
	if (*text)
		*text = strdup(*text);
}

bool op_in_pieces(const struct change *c)
{
	return c->op == CHANGE_WRITE || c->op == CHANGE_APPEND || c->flags & CHANGE_MAKES;
}

/* Replaces the texts by copies. A copy that could not be made is NULL. false: there is one. */
static bool own_texts(struct change *c)
{
	const struct change given = *c;

	copy_text(&c->path);
	copy_text(&c->path2);
	copy_text(&c->keep);
	copy_text(&c->name);
	c->data = given.data_len ? malloc(given.data_len) : NULL;
	if (c->data)
		memcpy((void *)c->data, given.data, given.data_len);
	return !c->path == !given.path && !c->path2 == !given.path2 && !c->keep == !given.keep &&
		!c->name == !given.name && (!given.data_len || c->data);
}

struct op *op_new(const struct change *change)
{
	struct op *q = calloc(1, sizeof *q);

	if (!q)
		return NULL;
	q->change = *change;
	if (op_in_pieces(change))
		q->change.data_len = 0;
	/* The version tells whether the sandbox still has the replaced file. */
	if (change->op == CHANGE_RENAME) {
		q->over = change->target2;
		q->change.target2 = (struct expect){ 0 };
	}
	if (own_texts(&q->change))
		return q;
	op_free(q);
	return NULL;
}

void op_free(struct op *q)
{
	if (!q)
		return;
	free((char *)q->change.path);
	free((char *)q->change.path2);
	free((char *)q->change.keep);
	free((char *)q->change.name);
	free((void *)q->change.data);
	free(q->pieces);
	free(q);
}

bool op_touches(const struct op *q, const struct inode *i)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n] == i)
			return true;
	return false;
}

/* Whether the inode is only a directory in which the op changes names. */
static bool is_just_parent(const struct op *q, const struct inode *i)
{
	const struct change_about *about = &q->about;
	bool is_parent = i == about->dir || i == about->dir2;

	return is_parent && i != about->target && i != q->made && i != q->moved[0] &&
		i != q->moved[1];
}

static bool is_name_of(const struct op *q, const char *path)
{
	const struct change *c = &q->change;

	return path && (!strcmp(c->path, path) || (c->path2 && !strcmp(c->path2, path)));
}

static bool share_a_name(const struct op *a, const struct op *b)
{
	return is_name_of(a, b->change.path) || is_name_of(a, b->change.path2);
}

bool op_keeps_time(const struct op *q)
{
	return q->is_unasked && q->change.op == CHANGE_SETATTR && q->change.set == SET_MTIME;
}

bool op_is_bound_to(const struct op *q, const struct op *before)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		const struct inode *i = before->about.scope.inodes[n];

		if (!i || !op_touches(q, i))
			continue;
		if (!is_just_parent(q, i))
			return true;
		if (is_just_parent(before, i) ? share_a_name(before, q) : !op_keeps_time(before))
			return true;
	}
	return false;
}

bool op_has_contents(const struct op *q)
{
	return op_in_pieces(&q->change);
}

bool op_makes_file(const struct op *q)
{
	return q->change.op == CHANGE_CREATE || q->change.flags & CHANGE_MAKES;
}

bool op_changes_contents(const struct op *q)
{
	return op_in_pieces(&q->change) || q->change.op == CHANGE_PLACE ||
		q->change.op == CHANGE_COPY ||
		(q->change.op == CHANGE_SETATTR && q->change.set & SET_SIZE);
}

bool op_sets_attributes(const struct op *q)
{
	return q->change.op == CHANGE_SETATTR && !(q->change.set & SET_SIZE);
}

bool op_carries_version(const struct op *q)
{
	return op_sets_attributes(q) && q->change.version.ctime.tv_sec;
}

bool op_moves_file(const struct op *q)
{
	const struct change *c = &q->change;

	return c->op == CHANGE_LINK || (c->op == CHANGE_RENAME && !(c->flags & CHANGE_EXCHANGE));
}

bool op_goes_by_name(const struct change *c)
{
	uint32_t flags = CHANGE_EXCL | CHANGE_NOREPLACE;

	if (c->op == CHANGE_RENAME)
		flags |= CHANGE_EXCHANGE;
	return c->flags & flags;
}

bool op_replaces_made(const struct op *q)
{
	return q->change.op == CHANGE_PLACE && q->change.flags & CHANGE_EXCHANGE && q->about.target;
}

bool op_goes_on_at(const struct op *q, const char *path)
{
	const struct change *c = &q->change;

	if (c->op == CHANGE_RENAME || c->op == CHANGE_PLACE)
		return !strcmp(c->path2, path) && !op_goes_by_name(c);
	return !strcmp(c->path, path) && c->op != CHANGE_COPY &&
		(c->op == CHANGE_UNLINK || op_changes_contents(q));
}

const struct expect *op_file(const struct op *q)
{
	static const struct expect none;

	if (q->change.op == CHANGE_COPY || op_replaces_made(q))
		return &none;
	return q->change.op == CHANGE_PLACE ? &q->change.target2 : &q->change.target;
}

bool op_is_same_file(const struct expect *a, const struct expect *b)
{
	return a->ino && a->ino == b->ino && a->dev == b->dev &&
		!is_born_apart(a->btime_ns, b->btime_ns);
}

bool op_is_of(const struct op *q, const struct expect *file)
{
	return op_is_same_file(op_file(q), file);
}

bool op_is_over(const struct op *q, const struct expect *file)
{
	return op_is_same_file(&q->over, file);
}

bool op_goes_on_with(const struct op *q, const struct expect *file)
{
	const struct change *c = &q->change;

	if (c->op == CHANGE_RENAME)
		return op_is_over(q, file) && !op_goes_by_name(c);
	return op_is_of(q, file) && (c->op == CHANGE_UNLINK || op_changes_contents(q));
}

bool op_removes(const struct op *q)
{
	return q->change.op == CHANGE_UNLINK || q->change.op == CHANGE_RMDIR;
}

static bool exchanges(const struct change *c)
{
	return c->op == CHANGE_RENAME && c->flags & CHANGE_EXCHANGE;
}

bool op_exchanges(const struct op *q)
{
	return exchanges(&q->change);
}

struct inode *op_exchanged(const struct op *q)
{
	return exchanges(&q->change) ? q->moved[1] : NULL;
}

/* Whether the change takes the file at its path away to another one. A link does not. */
static bool takes_along(const struct change *c)
{
	return c->op == CHANGE_RENAME || c->op == CHANGE_PLACE;
}

/* Whether `path` is `top` or below it. */
static bool is_below(const char *path, const char *top)
{
	size_t len = path ? strlen(top) : 0;

	return path && !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

/* Attributes count, too: they may have to leave again, and are set in their order. */
static bool is_of_the_file_at(const struct op *q, const char *path)
{
	const struct change *c = &q->change;
	bool is_there = !strcmp(c->path, path) || (c->path2 && !strcmp(c->path2, path));

	return is_there && c->op != CHANGE_SYNC;
}

static bool leaves_second(const struct change *c)
{
	return takes_along(c) || c->op == CHANGE_LINK || c->op == CHANGE_COPY;
}

const char *op_makes(const struct op *q)
{
	return leaves_second(&q->change) ? q->change.path2 : q->change.path;
}

size_t op_leads_from(const struct op *before, const char *paths[2])
{
	const struct change *c = &before->change;

	paths[0] = op_makes(before);
	paths[1] = c->path;
	if (exchanges(c))
		return 2;
	return leaves_second(c) || c->op <= CHANGE_SYMLINK || op_changes_contents(before) ||
		op_carries_version(before);
}

bool op_leads_to_from(const struct op *before, const struct op *q, const char *made)
{
	const char *paths[2];

	if (op_carries_version(before))
		return is_of_the_file_at(q, made);
	if (!op_leads_from(before, paths))
		return false;
	return is_below(q->change.path, made) || is_below(q->change.path2, made);
}

const char *op_leaves(const struct op *q)
{
	if (q->change.path2)
		return q->change.path2;
	return op_removes(q) ? NULL : q->change.path;
}

/* Moves a path at or below `from` to `to`. NULL: there is no `to`, or no memory. */
static char *move_path(char *path, const char *from, const char *to)
{
	char *moved = NULL;

	if (to && asprintf(&moved, "%s%s", to, path + strlen(from)) < 0)
		moved = NULL;
	free(path);
	return moved;
}

char *op_carry(const struct op *q, char *path)
{
	const struct change *c = &q->change;

	if ((takes_along(c) || op_removes(q)) && is_below(path, c->path))
		return move_path(path, c->path, c->path2);
	if (c->op == CHANGE_RENAME && is_below(path, c->path2))
		return move_path(path, c->path2, c->flags & CHANGE_EXCHANGE ? c->path : c->keep);
	return path;
}

char *op_carry_back(const struct op *q, char *path)
{
	const struct change *c = &q->change;
	bool is_new = c->op <= CHANGE_SYMLINK && !strcmp(path, c->path);
	bool is_moved = takes_along(c) || c->op == CHANGE_LINK;

	if (is_moved && is_below(path, c->path2))
		return move_path(path, c->path2, c->path);
	if (exchanges(c) && is_below(path, c->path))
		return move_path(path, c->path, c->path2);
	if (!is_new && !(takes_along(c) || op_removes(q)))
		return path;
	/* The file that had the name before has another one, or none. */
	return is_new || is_below(path, c->path) ? move_path(path, path, NULL) : path;
}

size_t op_moves_tops(const struct op *q, const char *paths[2])
{
	const struct change *c = &q->change;
	bool only_adds = c->op == CHANGE_LINK;

	paths[0] = only_adds ? c->path2 : c->path;
	paths[1] = c->path2;
	if (takes_along(c))
		return 2;
	return only_adds || op_removes(q);
}

static bool is_inside(const char *path, const char *top)
{
	return is_below(path, top) && path[strlen(top)];
}

bool op_moves_above(const struct op *q, const char *path)
{
	const struct change *c = &q->change;

	return c->op == CHANGE_RENAME && (is_inside(path, c->path) || is_inside(path, c->path2));
}

bool op_tells_file_at(const struct op *q, const char *path)
{
	const struct change *c = &q->change;
	const char *left = op_leaves(q);

	if (exchanges(c) && !strcmp(c->path, path))
		return true;
	if (!left || strcmp(left, path) != 0)
		return false;
	return c->op <= CHANGE_LINK || c->op == CHANGE_RENAME || op_changes_contents(q) ||
		op_carries_version(q);
}

bool op_may_extend(const struct op *q, enum change_op op, uint64_t offset, size_t len)
{
	const struct change *c = &q->change;

	if (q->state == OP_SENT || q->is_recovered || c->op != op || !op_in_pieces(c))
		return false;
	if (op == CHANGE_APPEND)
		return c->data_len + len <= OP_CONTENTS_MAX;
	return offset >= c->offset && offset - c->offset <= c->data_len &&
		offset - c->offset + len <= OP_CONTENTS_MAX;
}

bool op_add_piece(
	struct op *q, const struct journal_extent *where, uint64_t number, uint64_t offset)
{
	if (q->pieces_count == q->pieces_room) {
		size_t room = q->pieces_room ? q->pieces_room * 2 : 1;
		struct piece *grown = realloc(q->pieces, room * sizeof *grown);

		if (!grown)
			return false;
		q->pieces = grown;
		q->pieces_room = room;
	}
	if (q->change.op == CHANGE_APPEND)
		offset = q->change.offset + q->change.data_len;
	q->pieces[q->pieces_count++] =
		(struct piece){ .where = *where, .number = number, .offset = offset };
	size_t end = (size_t)(offset - q->change.offset) + where->len;

	if (end > q->change.data_len)
		q->change.data_len = end;
	return true;
}

void op_take_time(struct op *q, const struct change *piece)
{
	q->change.set = piece->set & SET_MTIME;
	q->change.mtime = piece->mtime;
}

/* Owners are not added: a user who may not set the owner may still set the rest. */
bool op_may_set_more(const struct op *q, const struct change *change)
{
	const uint32_t simple = SET_MODE | SET_ATIME | SET_MTIME;
	const struct change *c = &q->change;

	if (q->state == OP_SENT || q->is_recovered || c->op != CHANGE_SETATTR ||
		c->flags != change->flags)
		return false;
	return c->set && change->set && !((c->set | change->set) & ~simple) &&
		!strcmp(c->path, change->path);
}

bool op_may_set_mtime(const struct op *q, const struct change *change)
{
	if (q->state == OP_SENT || q->is_recovered || q->change.op != CHANGE_WRITE)
		return false;
	return change->op == CHANGE_SETATTR && change->set == SET_MTIME &&
		path_is_staged(q->change.path) && !strcmp(q->change.path, change->path);
}

bool op_set_more(struct op *q, const struct change *change, uint64_t number)
{
	static const struct journal_extent nothing;
	struct change *c = &q->change;

	if (!q->pieces_count && !op_add_piece(q, &nothing, q->number, c->offset))
		return false;
	if (!op_add_piece(q, &nothing, number, c->offset))
		return false;
	c->set |= change->set;
	if (change->set & SET_MODE)
		c->mode = change->mode;
	if (change->set & SET_ATIME)
		c->atime = change->atime;
	if (change->set & SET_MTIME)
		c->mtime = change->mtime;
	return true;
}

/* ---- Commits of whole files ---- */

/* The most entries of a commit: their notes must fit into one record of the journal. */
#define WRITES_MAX 1024

bool op_may_bring(const struct op *commit, const struct op *create, const struct op *write)
{
	const struct op *parts[] = { create, write ? write : create };

	if (create->change.op != CHANGE_CREATE || (write && write->change.op != CHANGE_WRITE))
		return false;
	if (write && write->pieces_count > WRITES_MAX)
		return false;
	for (size_t n = 0; n < 2; n++) {
		const struct op *q = parts[n];

		if (q->state == OP_SENT || q->change.offset || q->failures != commit->failures ||
			strcmp(q->change.path, commit->change.path) != 0)
			return false;
	}
	return true;
}

static void add_number(struct op *q, uint64_t number)
{
	q->pieces[q->pieces_count++] = (struct piece){ .number = number };
}

static void add_contents(struct op *q, const struct op *write)
{
	struct change *c = &q->change;

	for (size_t n = 0; n < write->pieces_count; n++)
		q->pieces[q->pieces_count++] = write->pieces[n];
	c->data_len = write->change.data_len;
}

static void say_it_makes(struct change *c, const struct change *create)
{
	c->flags |= CHANGE_MAKES;
	c->mode = create->mode;
	c->uid = create->uid;
	c->gid = create->gid;
}

bool op_bring(struct op *commit, const struct op *create, const struct op *write)
{
	size_t count = 2 + (write ? write->pieces_count : 0);

	commit->pieces = calloc(count, sizeof *commit->pieces);
	if (!commit->pieces)
		return false;
	commit->pieces_room = count;
	add_number(commit, create->number);
	add_number(commit, commit->number);
	say_it_makes(&commit->change, &create->change);
	if (write)
		add_contents(commit, write);
	op_take_time(commit, write ? &write->change : &create->change);
	return true;
}

enum err op_read_contents(
	const struct op *q, struct journal *journal, unsigned char *out, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = 0; n < q->pieces_count && !kind; n++)
		kind = !q->pieces[n].where.len
			? ERR_OK
			: journal_read(journal, &q->pieces[n].where,
				  out + (q->pieces[n].offset - q->change.offset), e);
	return kind;
}

size_t op_numbers_count(const struct op *q)
{
	return q->pieces_count ? q->pieces_count : 1;
}

void op_add_numbers(const struct op *q, uint64_t *numbers, size_t *count)
{
	if (!q->pieces_count)
		numbers[(*count)++] = q->number;
	for (size_t n = 0; n < q->pieces_count; n++)
		numbers[(*count)++] = q->pieces[n].number | (n ? JOURNAL_SAME : 0);
}

static enum err note_unsent(
	struct journal *journal, const uint64_t *numbers, size_t count, struct error *e)
{
	return journal_note_sent(journal, 0, numbers, count, e);
}

/*
 * Notes all entries at once: after a crash all are noted, or none. Without memory the youngest come
 * first, which make no sense alone.
 */
static enum err note_all(const struct op *q, struct journal *journal,
	enum err (*note)(struct journal *, const uint64_t *, size_t, struct error *),
	struct error *e)
{
	AUTO_FREE uint64_t *numbers = calloc(op_numbers_count(q), sizeof *numbers);
	size_t count = 0;
	enum err kind = ERR_OK;

	if (numbers) {
		op_add_numbers(q, numbers, &count);
		return note(journal, numbers, count, e);
	}
	if (!q->pieces_count)
		return note(journal, &q->number, 1, e);
	for (size_t n = q->pieces_count; n-- > 0 && !kind;)
		kind = note(journal, &q->pieces[n].number, 1, e);
	return kind;
}

enum err op_note_sent(const struct op *q, struct journal *journal, struct error *e)
{
	return note_all(q, journal, note_unsent, e);
}

enum err op_note_done(const struct op *q, struct journal *journal, struct error *e)
{
	return note_all(q, journal, journal_note_done, e);
}

enum err op_note_failed(
	const struct op *q, struct journal *journal, const struct error *why, struct error *e)
{
	size_t count = q->pieces_count ? q->pieces_count : 1;
	enum err kind = ERR_OK;

	for (size_t n = 0; n < count && !kind; n++) {
		uint64_t number = q->pieces_count ? q->pieces[n].number : q->number;

		/* A file that its commit brings along fails as a part of the commit. */
		if (number != q->number)
			number |= JOURNAL_SAME;
		kind = journal_note_failed(journal, number, why->kind, why->text, e);
	}
	return kind;
}

size_t op_cost(const struct op *q)
{
	size_t texts = (q->change.path ? strlen(q->change.path) : 0) +
		(q->change.path2 ? strlen(q->change.path2) : 0);

	return sizeof *q + texts + q->pieces_room * sizeof *q->pieces;
}
