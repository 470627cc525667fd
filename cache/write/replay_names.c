/*
 * The ops of an earlier mount by the names in them. Their inodes are unknown, so the next op of a
 * file is found by its name: among a hundred thousand at once, without a look at the others.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct named {
	LIST_ENTRY(named) link; /* in a bucket, in the order of the queue */
	struct op *q;
	const char *path;          /* a path of q->change; NULL: the key is a number */
	const struct expect *file; /* the number, of `q` */
	bool of_rename;
};

LIST_HEAD(named_list, named);

/*
 * An op has up to two names and two numbers. A rename has both names as keys once more: a rename of
 * a directory is found among few.
 */
enum { PLACES_MAX = 6 };

/* The key of a search. */
struct wanted {
	const char *path; /* `len` bytes; NULL: the key is `file` */
	size_t len;
	const struct expect *file;
	bool of_rename;
};

static struct named_list *bucket(const struct writeback *p, const struct wanted *w)
{
	const uint64_t number[] = { w->file ? w->file->dev : 0, w->file ? w->file->ino : 0 };
	uint64_t hash = w->path ? XXH3_64bits_withSeed(w->path, w->len, w->of_rename)
				: XXH3_64bits(number, sizeof number);

	return &p->named[hash & (p->named_room - 1)];
}

static struct wanted wanted_by(const struct named *name)
{
	return (struct wanted){ name->path, name->path ? strlen(name->path) : 0, name->file,
		name->of_rename };
}

/* The keys of an op. */
static size_t places_of(struct op *q, struct named out[PLACES_MAX])
{
	const char *const paths[] = { q->change.path, q->change.path2 };
	const struct expect *const files[] = { op_file(q), &q->over };
	size_t count = 0;

	for (size_t n = 0; n < 2; n++) {
		if (paths[n])
			out[count++] = (struct named){ .q = q, .path = paths[n] };
		if (paths[n] && q->change.op == CHANGE_RENAME)
			out[count++] =
				(struct named){ .q = q, .path = paths[n], .of_rename = true };
		if (files[n]->ino)
			out[count++] = (struct named){ .q = q, .file = files[n] };
	}
	return count;
}

/* Inserts at the head of the bucket: all ops that are in it come later in the queue. */
static bool enter(struct writeback *p, struct op *q)
{
	struct named places[PLACES_MAX];
	size_t count = places_of(q, places);

	q->named = calloc(count, sizeof *q->named);
	q->named_count = q->named ? count : 0;
	for (size_t n = 0; n < q->named_count; n++) {
		const struct wanted w = wanted_by(&places[n]);

		q->named[n] = places[n];
		LIST_INSERT_HEAD(bucket(p, &w), &q->named[n], link);
	}
	return q->named || !count;
}

enum err writeback_enter_named(struct writeback *p, struct error *e)
{
	struct op *q;

	p->named_room = 1;
	while (p->named_room < p->changes)
		p->named_room *= 2;
	p->named = calloc(p->named_room, sizeof *p->named);
	TAILQ_FOREACH_REVERSE(q, &p->queue, op_list, link)
	if (!p->named || !enter(p, q))
		return error_set(e, ERR_NO_MEMORY, "the journal");
	return ERR_OK;
}

void writeback_leave_named_locked(struct op *q)
{
	for (size_t n = 0; n < q->named_count; n++)
		LIST_REMOVE(&q->named[n], link);
	free(q->named);
	q->named = NULL;
	q->named_count = 0;
}

static bool is_urgent(const struct named *name, const struct wanted *w)
{
	if (!w->path)
		return !name->path && op_is_same_file(name->file, w->file);
	return name->path && name->of_rename == w->of_rename &&
		!strncmp(name->path, w->path, w->len) && !name->path[w->len];
}

/* The search starts behind `before`, where that is in the bucket itself. */
static const struct named *first_behind(
	const struct writeback *p, const struct op *before, const struct wanted *w)
{
	for (size_t n = 0; n < before->named_count; n++)
		if (is_urgent(&before->named[n], w))
			return LIST_NEXT(&before->named[n], link);
	return p->named ? LIST_FIRST(bucket(p, w)) : NULL;
}

/* A CHANGE_SYNC concerns no file, and a copy leaves its source as it is. */
static bool leaves_alone(const struct named *name)
{
	const struct change *c = &name->q->change;

	return c->op == CHANGE_SYNC || (c->op == CHANGE_COPY && name->path == c->path);
}

/* The first op behind `before` that has the key; NULL: none. */
static struct op *next_wanted(struct writeback *p, const struct op *before, const struct wanted *w)
{
	const struct named *name = first_behind(p, before, w);

	for (; name; name = LIST_NEXT(name, link)) {
		p->looked_at++;
		if (is_urgent(name, w) && name->q->order > before->order && !leaves_alone(name))
			return name->q;
	}
	return NULL;
}

static struct op *earlier(struct op *a, struct op *b)
{
	return !a || (b && b->order < a->order) ? b : a;
}

/* The first rename of a directory above the path; NULL: none moves. */
static struct op *next_above(struct writeback *p, const struct op *before, const char *path)
{
	struct op *first = NULL;

	for (size_t len = strlen(path); len-- > 0;) {
		const struct wanted w = { .path = path, .len = len, .of_rename = true };

		if (path[len] == '/')
			first = earlier(first, next_wanted(p, before, &w));
	}
	return first;
}

struct op *writeback_next_of_file_locked(
	struct writeback *p, const struct op *before, struct followed *f)
{
	const struct wanted by_number = { .file = f->file };
	struct op *numbered = f->file->ino ? next_wanted(p, before, &by_number) : NULL;

	while (f->path) {
		const struct wanted w = { .path = f->path, .len = strlen(f->path) };
		struct op *next = earlier(numbered, next_wanted(p, before, &w));
		struct op *mover = next_above(p, before, f->path);

		if (!mover || (next && next->order <= mover->order))
			return next;
		f->path = op_carry(mover, f->path);
		before = mover;
	}
	return numbered;
}
