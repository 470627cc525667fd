/* Reads of pending contents out of the journal, without the sandbox. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <string.h>

/*
 * The most that is read of the journal to lay it over earlier contents: each piece costs a system
 * call.
 */
#define PIECES_MAX 8192
#define BYTES_MAX  ((size_t)64 * 1024 * 1024)

/*
 * One read: `out` has the file's bytes at `offset`, and so far only those between `from` and `to`
 * are known.
 */
struct read_view {
	struct writeback *p;
	uint64_t offset;
	unsigned char *out;
	size_t len;
	uint64_t from, to;
	bool is_changed;      /* a pending op changes the contents */
	bool is_torn;         /* known bytes in several parts, or bytes that only the sandbox has */
	bool is_based;        /* the contents from before are known, too */
	uint64_t size;        /* where is_based: the file's size so far */
	size_t pieces, bytes; /* where is_based: pieces and bytes read */
};

static uint64_t end_of(const struct read_view *w)
{
	return w->offset + w->len;
}

/* Known bytes in parts that do not touch each other are not tracked. */
static void know(struct read_view *w, uint64_t from, uint64_t to)
{
	bool is_first = w->from == w->to;

	w->is_torn |= !is_first && (from > w->to || to < w->from);
	w->from = is_first || from < w->from ? from : w->from;
	w->to = is_first || to > w->to ? to : w->to;
}

/* The file ends at `size`: if it grows later, there are zeros behind this end. */
static void show_end(struct read_view *w, uint64_t size)
{
	uint64_t from = size > w->offset ? size : w->offset;

	if (from >= end_of(w))
		return;
	memset(w->out + (from - w->offset), 0, end_of(w) - from);
	know(w, from, end_of(w));
}

static enum err show_piece(struct read_view *w, const struct piece *piece, struct error *e)
{
	uint64_t end = piece->offset + piece->where.len;
	uint64_t from = piece->offset > w->offset ? piece->offset : w->offset;
	uint64_t to = end < end_of(w) ? end : end_of(w);
	struct journal_extent part = { .at = piece->where.at + (from - piece->offset),
		.len = (uint32_t)(to - from) };

	if (from >= to)
		return ERR_OK;
	w->bytes += piece->where.len;
	if (w->is_based && (++w->pieces > PIECES_MAX || w->bytes > BYTES_MAX)) {
		w->is_torn = true;
		return ERR_OK;
	}
	know(w, from, to);
	return journal_read(w->p->journal, &part, w->out + (from - w->offset), e);
}

static enum err show_change(struct read_view *w, const struct op *q, struct error *e)
{
	enum err kind = ERR_OK;

	w->is_changed |= op_makes_file(q) || op_changes_contents(q);
	if (op_makes_file(q))
		show_end(w, 0);
	if (q->change.op == CHANGE_SETATTR && q->change.set & SET_SIZE)
		show_end(w, q->change.size);
	for (size_t n = 0; n < q->pieces_count && !kind && !w->is_torn; n++)
		kind = show_piece(w, &q->pieces[n], e);
	return kind;
}

static uint64_t size_after(const struct op *q, uint64_t size)
{
	const struct change *c = &q->change;
	uint64_t end = op_has_contents(q) ? c->offset + c->data_len : 0;

	if (op_makes_file(q))
		return end;
	if (c->op == CHANGE_SETATTR && c->set & SET_SIZE)
		return c->size;
	return end > size ? end : size;
}

/*
 * Whether only the sandbox knows the result: of a copy, of fallocate, and of an append that may
 * land elsewhere.
 */
static bool is_opaque(const struct read_view *w, const struct op *q)
{
	if (w->is_based && q->change.op == CHANGE_APPEND && q->change.offset != w->size)
		return true;
	return q->change.op == CHANGE_COPY || q->change.op == CHANGE_FALLOCATE;
}

/* Applies the pending ops in their order, on top of the sandbox's contents. */
static enum err show_all_locked(struct read_view *w, const struct inode *i, struct error *e)
{
	const struct op *q;
	enum err kind = ERR_OK;

	TAILQ_FOREACH(q, &w->p->queue, link)
	{
		if (q->about.target != i)
			continue;
		if (is_opaque(w, q))
			w->is_torn = true;
		kind = w->is_torn ? ERR_OK : show_change(w, q, e);
		if (kind || w->is_torn)
			break;
		w->size = size_after(q, w->size);
	}
	return kind;
}

static bool is_known(const struct read_view *w)
{
	if (w->is_based)
		return !w->is_torn;
	if (!w->len)
		return w->is_changed;
	return !w->is_torn && w->from <= w->offset && w->to >= end_of(w);
}

static enum err read_locked(
	struct read_view *w, struct inode *i, size_t *got, bool *served, struct error *e)
{
	struct attr attr;

	tree_attr(w->p->cache->tree, i, &attr);
	if (attr.size < end_of(w))
		w->len = attr.size > w->offset ? (size_t)(attr.size - w->offset) : 0;
	enum err kind = show_all_locked(w, i, e);
	bool is_as_shown = !w->is_based || w->size == attr.size;

	*served = !kind && is_as_shown && is_known(w);
	*got = *served ? w->len : 0;
	return kind;
}

enum err writeback_lay_locked(struct writeback *p, struct inode *i, const struct attr *base,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e)
{
	struct read_view w = { .p = p,
		.offset = offset,
		.out = out,
		.len = len,
		.from = offset,
		.to = offset + len,
		.is_based = true,
		.size = base->size };

	return read_locked(&w, i, got, served, e);
}

enum err writeback_read(struct writeback *p, struct inode *i, uint64_t offset, void *out,
	size_t len, size_t *got, bool *served, struct error *e)
{
	struct read_view w = { .p = p, .offset = offset, .out = out, .len = len };
	enum err kind = ERR_OK;

	*served = false;
	*got = 0;
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->pending && i->pending->in_queue && !i->pending->is_lost)
		kind = read_locked(&w, i, got, served, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}
