/*
 * Which changes of a batch others of it need, by the names in them, for ops of an earlier mount,
 * whose inodes are unknown. The result is that of op_leads_to_from(), op_tells_file_at() and
 * op_carry_back() for each pair, without a look at all pairs.
 */
#include "cache/write/writeback_inside.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The last steps about one name, counted from 1; 0: none. */
struct steps_name {
	const char *path; /* a path of a change in the batch; NULL: the slot is free */
	size_t len;
	size_t inside;  /* ops at and below the name make no sense without this step */
	size_t exact;   /* carries the version of the file there */
	size_t left_as; /* 1 + the index of a note: the file there is as this step left it */
	size_t moved;   /* 1 + the index of a note: moves or removes files at or below the name */
};

struct steps_note {
	size_t step;
	size_t before; /* 1 + the index of the previous note of the same name; 0: none */
};

/* The slot of the name, or a free one for it. There is room. */
static struct steps_name *find(const struct steps *s, const char *path, size_t len)
{
	size_t at = XXH3_64bits(path, len) & (s->room - 1);

	for (; s->names[at].path &&
		(s->names[at].len != len || memcmp(s->names[at].path, path, len) != 0);
		++*s->looked_at)
		at = (at + 1) & (s->room - 1);
	return &s->names[at];
}

static bool grow(struct steps *s)
{
	struct steps old = *s;

	s->room = old.room ? 2 * old.room : 64;
	s->names = calloc(s->room, sizeof *s->names);
	if (!s->names) {
		*s = old;
		return false;
	}
	for (size_t n = 0; n < old.room; n++)
		if (old.names[n].path)
			*find(s, old.names[n].path, old.names[n].len) = old.names[n];
	free(old.names);
	return true;
}

static struct steps_name *name_of(struct steps *s, const char *path)
{
	size_t len = strlen(path);
	struct steps_name *name = find(s, path, len);

	if (!name->path) {
		name->path = path;
		name->len = len;
		s->count++;
	}
	return name;
}

/* No change has more names than these. */
#define NAMES_OF_ONE 2
#define NOTES_OF_ONE (2 * NAMES_OF_ONE)

static bool grow_notes(struct steps *s)
{
	size_t room = s->notes_room ? 2 * s->notes_room : 64;
	struct steps_note *grown = realloc(s->notes, room * sizeof *grown);

	if (!grown)
		return false;
	s->notes = grown;
	s->notes_room = room;
	return true;
}

bool steps_reserve(struct steps *s)
{
	bool has_names = 2 * (s->count + NAMES_OF_ONE) <= s->room || grow(s);

	return has_names && (s->notes_count + NOTES_OF_ONE <= s->notes_room || grow_notes(s));
}

static void note(struct steps *s, size_t *last, size_t step)
{
	s->notes[s->notes_count++] = (struct steps_note){ step, *last };
	*last = s->notes_count;
}

void steps_note(struct steps *s, const struct op *q, size_t step)
{
	const char *const names[] = { q->change.path, q->change.path2 };
	const char *paths[2];
	size_t count = op_leads_from(q, paths);
	bool carries = op_carries_version(q);

	for (size_t n = 0; n < count; n++) {
		struct steps_name *name = name_of(s, paths[n]);

		*(carries ? &name->exact : &name->inside) = step;
	}
	for (size_t n = 0; n < 2; n++)
		if (names[n] && op_tells_file_at(q, names[n]))
			note(s, &name_of(s, names[n])->left_as, step);
	count = op_moves_tops(q, paths);
	for (size_t n = 0; n < count; n++)
		note(s, &name_of(s, paths[n])->moved, step);
}

static size_t max_step(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Looks at the path itself and at each directory on the way there. */
static size_t needed_by(const struct steps *s, const struct op *q, const char *path)
{
	size_t len = path ? strlen(path) : 0;
	const struct steps_name *name = path ? find(s, path, len) : NULL;
	size_t step = name ? name->inside : 0;

	if (name && q->change.op != CHANGE_SYNC)
		step = max_step(step, name->exact);
	while (len--)
		if (path[len] == '/')
			step = max_step(step, find(s, path, len)->inside);
	return step;
}

size_t steps_needed(const struct steps *s, const struct op *q)
{
	if (!s->count)
		return 0;
	return max_step(needed_by(s, q, q->change.path), needed_by(s, q, q->change.path2));
}

static size_t last_step(const struct steps *s, size_t last, size_t count)
{
	for (; last && s->notes[last - 1].step > count; last = s->notes[last - 1].before)
		++*s->looked_at;
	return last ? s->notes[last - 1].step : 0;
}

size_t steps_about(const struct steps *s, const char *path, size_t count)
{
	size_t len = strlen(path);

	if (!s->count)
		return 0;
	const struct steps_name *name = find(s, path, len);
	size_t step =
		max_step(last_step(s, name->left_as, count), last_step(s, name->moved, count));

	++*s->looked_at;
	while (len--)
		if (path[len] == '/')
			step = max_step(step, last_step(s, find(s, path, len)->moved, count));
	return step;
}

void steps_release(struct steps *s)
{
	free(s->names);
	free(s->notes);
	*s = (struct steps){ .looked_at = s->looked_at };
}
