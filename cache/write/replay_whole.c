/*
 * Small files of an earlier mount of which nothing has left: the change that makes such a file, its
 * writes and its commit become one change, as a live commit would have become.
 */
#include "cache/write/writeback_inside.h"

#include "providers/base/path.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A staged file while the queue is looked through. */
struct staged {
	const char *path; /* the path of the change that makes the file, and the key */
	struct op *create;
	struct op *write; /* the only one, which has the contents of all writes so far; or NULL */
	bool is_other;    /* something else was done to the file, or it is too large */
};

struct whole {
	struct writeback *p;
	void *files; /* struct staged, with tsearch(3) */
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct staged *)a)->path, ((const struct staged *)b)->path);
}

static struct staged *find(const struct whole *w, const char *path)
{
	const struct staged wanted = { .path = path };
	struct staged *const *node = path ? tfind(&wanted, &w->files, compare) : NULL;

	return node ? *node : NULL;
}

static bool has_left(const struct op *q)
{
	return q->sequence || q->outcome_unknown;
}

/* Without memory the file leaves in several changes. */
static void note_create(struct whole *w, struct op *q)
{
	struct staged *s = calloc(1, sizeof *s);

	if (!s)
		return;
	*s = (struct staged){ .path = q->change.path, .create = q };
	struct staged *const *node = tsearch(s, &w->files, compare);

	if (!node || *node != s)
		free(s);
}

static void leave(struct writeback *p, struct op *q)
{
	op_becomes(q, OP_ELIDED, "a part of another one");
	TAILQ_REMOVE(&p->queue, q, link);
	p->changes--;
	p->cost -= op_cost(q);
	op_free(q);
}

static bool add_pieces(struct op *first, const struct op *next)
{
	for (size_t n = 0; n < next->pieces_count; n++) {
		const struct piece *piece = &next->pieces[n];

		if (!op_add_piece(first, &piece->where, piece->number, piece->offset))
			return false;
	}
	op_take_time(first, &next->change);
	return true;
}

static bool may_follow(const struct op *first, const struct op *q)
{
	const struct change *c = &q->change;
	uint64_t end = c->offset + c->data_len;

	return q->pieces_count == 1 && c->offset <= first->change.data_len &&
		end <= OP_CONTENTS_MAX;
}

/* Without memory some pieces are there twice, with the same bytes. */
static void add_write(struct whole *w, struct staged *s, struct op *q)
{
	struct writeback *p = w->p;

	if (!s->write && !q->change.offset) {
		s->write = q;
		return;
	}
	s->is_other |= !s->write || !may_follow(s->write, q);
	if (s->is_other)
		return;
	uint64_t before = s->write->change.data_len + q->change.data_len;
	size_t cost = op_cost(s->write);

	if (!add_pieces(s->write, q)) {
		s->is_other = true;
		return;
	}
	p->cost += op_cost(s->write) - cost;
	p->bytes -= before - s->write->change.data_len;
	p->unsent_bytes -= before - s->write->change.data_len;
	leave(p, q);
}

static bool are_together(struct writeback *p, const struct staged *s, const struct op *commit)
{
	const struct op *last = s->write;
	uint64_t number = last ? last->pieces[last->pieces_count - 1].number : commit->number;

	return journal_are_together(p->journal, s->create->number, number);
}

static void bring(struct whole *w, struct staged *s, struct op *commit)
{
	struct writeback *p = w->p;
	size_t cost = op_cost(commit);

	if (s->is_other || !op_may_bring(commit, s->create, s->write) ||
		!are_together(p, s, commit) || !op_bring(commit, s->create, s->write))
		return;
	p->cost += op_cost(commit) - cost;
	tdelete(s, &w->files, compare);
	leave(p, s->create);
	if (s->write)
		leave(p, s->write);
	free(s);
}

static void look_at(struct whole *w, struct op *q)
{
	const struct change *c = &q->change;
	struct staged *s = find(w, c->path);
	struct staged *other = find(w, c->path2);

	if (other)
		other->is_other = true;
	if (!s && c->op == CHANGE_CREATE && path_is_staged(c->path) && !has_left(q))
		note_create(w, q);
	else if (s && c->op == CHANGE_WRITE && !has_left(q))
		add_write(w, s, q);
	else if (s && c->op == CHANGE_PLACE && c->flags & CHANGE_EXCL && !has_left(q))
		bring(w, s, q);
	else if (s)
		s->is_other = true;
}

void writeback_bring_recovered(struct writeback *p)
{
	struct whole w = { .p = p };

	for (struct op *q = TAILQ_FIRST(&p->queue), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		look_at(&w, q);
	}
	tdestroy(w.files, free);
}
