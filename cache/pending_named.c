/*
 * What an earlier mount left, by the names in it. No inode is known for these changes, so what
 * comes next at a name is found by that: of a hundred thousand at once, without a look at the
 * others.
 */
#include "cache/pending_inside.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct named {
	LIST_ENTRY(named) link; /* of a bucket, in the order of the queue */
	struct queued *q;
	const char *path; /* of q->change */
};

LIST_HEAD(named_list, named);

/* Renames stand under both of their names once more: what moves a directory is found among few. */
enum { NAMES_OF_ANY = 2, NAMES_OF_RENAME = 4 };

static size_t names_count(const struct queued *q)
{
	return q->change.op == CHANGE_RENAME ? NAMES_OF_RENAME : NAMES_OF_ANY;
}

static struct named_list *bucket(
	const struct pending *p, const char *path, size_t len, bool of_rename)
{
	return &p->named[XXH3_64bits_withSeed(path, len, of_rename) & (p->named_room - 1)];
}

/* At the head, for all that are there already come after it in the queue. */
static bool enter(struct pending *p, struct queued *q)
{
	size_t count = names_count(q);

	q->named = calloc(count, sizeof *q->named);
	for (size_t n = 0; n < count && q->named; n++) {
		struct named *name = &q->named[n];

		name->q = q;
		name->path = n % 2 ? q->change.path2 : q->change.path;
		if (name->path)
			LIST_INSERT_HEAD(
				bucket(p, name->path, strlen(name->path), n >= NAMES_OF_ANY), name,
				link);
	}
	return q->named;
}

enum err pending_enter_named(struct pending *p, struct error *e)
{
	struct queued *q;

	p->named_room = 1;
	while (p->named_room < p->changes)
		p->named_room *= 2;
	p->named = calloc(p->named_room, sizeof *p->named);
	TAILQ_FOREACH_REVERSE(q, &p->queue, queued_list, link)
	if (!p->named || !enter(p, q))
		return error_set(e, ERR_NO_MEMORY, "the journal");
	return ERR_OK;
}

void pending_leave_named_locked(struct queued *q)
{
	for (size_t n = 0; q->named && n < names_count(q); n++)
		if (q->named[n].path)
			LIST_REMOVE(&q->named[n], link);
	free(q->named);
	q->named = NULL;
}

static bool has_name(const struct named *name, const char *path, size_t len, bool of_rename)
{
	bool is_of_rename = name - name->q->named >= NAMES_OF_ANY;

	return is_of_rename == of_rename && name->path && !strncmp(name->path, path, len) &&
		!name->path[len];
}

/* Where `before` has the name itself, all that stand before it in the bucket are passed at once. */
static const struct named *first_behind(const struct pending *p, const struct queued *before,
	const char *path, size_t len, bool of_rename)
{
	for (size_t n = 0; before->named && n < names_count(before); n++)
		if (has_name(&before->named[n], path, len, of_rename))
			return LIST_NEXT(&before->named[n], link);
	return p->named ? LIST_FIRST(bucket(p, path, len, of_rename)) : NULL;
}

/* The first one with this name, and no barrier; or the first rename of these. NULL: none. */
static struct queued *next_named(struct pending *p, const struct queued *before, const char *path,
	size_t len, bool of_rename)
{
	const struct named *name = first_behind(p, before, path, len, of_rename);

	for (; name; name = LIST_NEXT(name, link)) {
		p->looked_at++;
		if (has_name(name, path, len, of_rename) && name->q->order > before->order &&
			name->q->change.op != CHANGE_SYNC)
			return name->q;
	}
	return NULL;
}

/* The first rename of a directory above the path; NULL: none moves. */
static struct queued *next_above(struct pending *p, const struct queued *before, const char *path)
{
	struct queued *first = NULL;

	for (size_t len = strlen(path); len-- > 0;) {
		struct queued *q = path[len] == '/' ? next_named(p, before, path, len, true) : NULL;

		if (q && (!first || q->order < first->order))
			first = q;
	}
	return first;
}

struct queued *pending_next_of_file_locked(
	struct pending *p, const struct queued *before, char **path)
{
	while (*path) {
		struct queued *next = next_named(p, before, *path, strlen(*path), false);
		struct queued *mover = next_above(p, before, *path);

		if (!mover || (next && next->order <= mover->order))
			return next;
		*path = queued_carry(mover, *path);
		before = mover;
	}
	return NULL;
}
