/*
 * Replay: the ops that an earlier mount left in the journal. Their inodes are unknown here. So each
 * op is checked against the inodes that it expected, all leave in their order, and no new op
 * overtakes them. An op that had left already has its old number: the sandbox's record tells
 * whether it was applied.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/path.h"
#include "providers/change_words.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Finds the position of an op in a long queue at once, while the journal is read. */
struct loading {
	struct writeback *p;
	struct op *last_sent; /* the last op with a sequence number; NULL: none */
	void *commits; /* by path, with tsearch(3): each CHANGE_PLACE without a sequence number */
};

/* ---- Reading the journal ---- */

/* Reads the text of a link or the value of an attribute. Contents stay in the journal. */
static enum err read_text(struct writeback *p, const struct journal_entry *entry,
	struct change *change, void **memory, struct error *e)
{
	bool has_text = !op_in_pieces(change) && entry->where.len;

	change->data = NULL;
	change->data_len = has_text ? entry->where.len : 0;
	if (!has_text)
		return ERR_OK;
	*memory = malloc(entry->where.len);
	change->data = *memory;
	return *memory ? journal_read(p->journal, &entry->where, *memory, e)
		       : error_set(e, ERR_NO_MEMORY, "the journal");
}

/* The number in either record: all numbers come from one count. */
static uint64_t number_of(uint64_t sequence)
{
	return sequence & ~SEQUENCE_ASIDE;
}

/* Inserts ops in the order in which they left, and those that never left behind them. */
static void insert(struct loading *l, struct op *q)
{
	struct writeback *p = l->p;
	struct op *at = q->sequence ? l->last_sent : TAILQ_LAST(&p->queue, op_list);

	for (; at && q->sequence && number_of(at->sequence) > number_of(q->sequence);
		p->looked_at++)
		at = TAILQ_PREV(at, op_list, link);
	if (q->sequence && at == l->last_sent)
		l->last_sent = q;
	if (at)
		TAILQ_INSERT_AFTER(&p->queue, at, q, link);
	else
		TAILQ_INSERT_HEAD(&p->queue, q, link);
	p->changes++;
	p->cost += op_cost(q);
}

/* Adds an entry to the op: contents as a piece, attributes over the earlier ones. */
static bool add(struct op *q, const struct journal_entry *entry)
{
	const struct change *c = &entry->change;

	/*
	 * An op that was refused or done, and noted so only in part, leaves once more with the rest
	 * of its entries, to get the answer again.
	 */
	if (op_in_pieces(c) && op_has_contents(q)) {
		if (entry->number != q->number)
			op_take_time(q, c);
		return op_add_piece(q, &entry->where, entry->number, c->offset);
	}
	return entry->number == q->number || op_set_more(q, c, entry->number);
}

static bool add_piece(struct writeback *p, struct op *q, const struct journal_entry *entry)
{
	size_t before = q->change.data_len, cost = op_cost(q);

	if (!add(q, entry))
		return false;
	p->cost += op_cost(q) - cost;
	if (!op_has_contents(q))
		return true;
	p->bytes += q->change.data_len - before;
	p->unsent_bytes += q->change.data_len - before;
	return true;
}

/* Entries that were sent as one change have one number. */
static struct op *find_sent(const struct loading *l, const struct journal_entry *entry)
{
	struct op *q = entry->sequence ? l->last_sent : NULL;

	for (; q && number_of(q->sequence) >= number_of(entry->sequence); l->p->looked_at++) {
		if (q->sequence == entry->sequence)
			return q;
		q = TAILQ_PREV(q, op_list, link);
	}
	return NULL;
}

/* ---- Deferred ops ---- */

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct op *)a)->change.path, ((const struct op *)b)->change.path);
}

static void no_free(void *q)
{
	(void)q;
}

/* The youngest of several for one path counts. false: no memory. */
static bool note_held(struct loading *l, struct op *q)
{
	if (q->change.op != CHANGE_PLACE || q->sequence)
		return true;
	struct op **node = tsearch(q, &l->commits, compare_paths);

	if (node)
		*node = q;
	return node;
}

/* The staged file that the op changes; NULL: none, or the op has left already. */
static const char *staged_file(const struct op *q)
{
	const struct change *c = &q->change;
	const char *changed = c->op == CHANGE_COPY ? c->path2 : c->path;
	bool is_content = c->op >= CHANGE_SETATTR && c->op != CHANGE_PLACE;

	return is_content && !q->sequence && path_is_staged(changed) ? changed : NULL;
}

/*
 * A deferred op is in the journal from the beginning: writes to its staged file since then come
 * before it.
 */
static void move_held_behind(struct loading *l, struct op *q)
{
	const char *staged = staged_file(q);
	const struct op wanted = { .change.path = staged };
	struct op *const *node = staged ? tfind(&wanted, &l->commits, compare_paths) : NULL;

	if (!node)
		return;
	TAILQ_REMOVE(&l->p->queue, *node, link);
	TAILQ_INSERT_AFTER(&l->p->queue, q, *node, link);
}

static struct op *recovered_new(const struct journal_entry *entry, const struct change *change)
{
	struct op *q = op_new(change);

	if (!q)
		return NULL;
	q->number = entry->number;
	q->sequence = entry->sequence;
	q->outcome_unknown = entry->has_left && op_has_contents(q);
	q->is_barrier = q->is_urgent = q->is_recovered = q->is_inherited = true;
	op_becomes(q, entry->has_left || entry->sequence ? OP_UNKNOWN : OP_QUEUED,
		"replayed from the journal");
	q->since_ms = monotonic_ms();
	return q;
}

static struct op *take_up(
	struct loading *l, const struct journal_entry *entry, const struct change *change)
{
	struct op *q = recovered_new(entry, change);

	if (!q || !note_held(l, q)) {
		op_free(q);
		return NULL;
	}
	insert(l, q);
	move_held_behind(l, q);
	return q;
}

/* The file that `create` makes left as one change with its commit. */
static struct op *take_up_whole(struct loading *l, struct op *create,
	const struct journal_entry *entry, const struct change *change)
{
	struct writeback *p = l->p;
	struct op *commit = recovered_new(entry, change);

	if (!commit || !op_bring(commit, create, NULL)) {
		op_free(commit);
		return NULL;
	}
	TAILQ_INSERT_BEFORE(create, commit, link);
	TAILQ_REMOVE(&p->queue, create, link);
	if (l->last_sent == create)
		l->last_sent = commit;
	p->cost += op_cost(commit) - op_cost(create);
	op_free(create);
	return commit;
}

/* Finds all positions again after an op left the queue. false: no memory. */
static bool find_places_again(struct loading *l)
{
	struct op *q;
	bool is_done = true;

	tdestroy(l->commits, no_free);
	*l = (struct loading){ .p = l->p };
	TAILQ_FOREACH(q, &l->p->queue, link)
	{
		if (q->sequence)
			l->last_sent = q;
		is_done &= note_held(l, q);
	}
	return is_done;
}

/*
 * The mount ended just after it had queued an op again, under another name. The refused op leaves,
 * with the ops behind it by the first name: they are not meant for the others' file.
 */
static bool drop_refused(struct loading *l, const struct change *again)
{
	struct op *q;

	if (!writeback_may_be_again(again))
		return true;
	TAILQ_FOREACH(q, &l->p->queue, link)
	{
		l->p->looked_at++;
		if (writeback_is_again(q, again))
			break;
	}
	if (!q)
		return true;
	refused_again_locked(l->p, q);
	return find_places_again(l);
}

static enum err take_entry(void *context, const struct journal_entry *entry, struct error *e)
{
	struct loading *l = context;
	struct writeback *p = l->p;
	AUTO_FREE void *text = NULL;
	struct change change = entry->change;

	if (entry->has_failed) {
		p->failed += !entry->is_part && !change_is_in_staging(&entry->change);
		return ERR_OK;
	}
	enum err kind = read_text(p, entry, &change, &text, e);
	struct op *q = kind ? NULL : find_sent(l, entry);

	if (!kind && !drop_refused(l, &change))
		kind = error_set(e, ERR_NO_MEMORY, "the journal");
	if (!kind && !q)
		q = take_up(l, entry, &change);
	else if (!kind && q->change.op == CHANGE_CREATE && change.op == CHANGE_PLACE)
		q = take_up_whole(l, q, entry, &change);
	if (!kind && (!q || !add_piece(p, q, entry)))
		kind = error_set(e, ERR_NO_MEMORY, "the journal");
	return kind;
}

static void number_all(struct writeback *p)
{
	struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	q->order = ++p->orders;
	p->recovered = p->orders;
}

/* The root's attributes are from before the ops, and no event tells of these. */
static void invalidate_root(struct writeback *p)
{
	struct inode *root = tree_root(p->cache->tree);

	tree_invalidate(p->cache->tree, root);
	cache_tell_inode(p->cache, root, false);
}

enum err writeback_recover(struct writeback *p, struct error *e)
{
	struct loading l = { .p = p };
	enum err kind = journal_each(p->journal, take_entry, &l, e);

	tdestroy(l.commits, no_free);
	writeback_bring_recovered(p);
	number_all(p);
	if (!kind)
		kind = writeback_enter_named(p, e);
	p->is_recovering = p->changes > 0;
	p->binding = p->changes ? BINDING_WAITS : BINDING_NONE;
	p->by_name_to = writeback_last_by_name(p);
	if (!kind && p->changes)
		log_info(LOG_CACHE, "%llu changes of an earlier mount are sent now",
			(unsigned long long)p->changes);
	return kind;
}

bool writeback_has_recovered_locked(const struct writeback *p)
{
	const struct op *first = TAILQ_FIRST(&p->queue);

	return first && first->order <= p->recovered;
}

/* Whether `q` or an op behind it was queued in place of an op of an earlier mount. */
static bool has_inherited(const struct op *q)
{
	while (q && !q->is_inherited)
		q = TAILQ_NEXT(q, link);
	return q;
}

void writeback_opened(struct writeback *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->binding == BINDING_WAITS)
		p->binding = BINDING_DUE;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void writeback_end_recovery_locked(struct writeback *p)
{
	/* The listings are older than these ops. */
	if (p->is_recovering && p->binding != BINDING_DONE && !writeback_has_recovered_locked(p))
		tree_invalidate_below(p->cache->tree, tree_root(p->cache->tree));
	if (!p->is_recovering || has_inherited(TAILQ_FIRST(&p->queue)))
		return;
	p->is_recovering = false;
	invalidate_root(p);
	inherited_log_locked(p);
}

bool writeback_has_replay(const struct writeback *p)
{
	return p && p->recovered;
}

bool writeback_is_recovering(struct writeback *p)
{
	if (!p)
		return false;
	pthread_mutex_lock(&p->lock);
	bool is = p->is_recovering && p->binding != BINDING_DONE;

	pthread_mutex_unlock(&p->lock);
	return is;
}

/* An inode that an earlier mount made has no number yet, so that nothing is known of it here. */
bool writeback_recovered_changes_locked(const struct writeback *p, struct inode *i)
{
	const struct expect file = tree_expect(p->cache->tree, i);
	const struct op *q = TAILQ_FIRST(&p->queue);

	if (!writeback_has_recovered_locked(p))
		return false;
	while (q && q->order <= p->recovered && !op_is_of(q, &file) && !op_is_over(q, &file))
		q = TAILQ_NEXT(q, link);
	return !file.ino || (q && q->order <= p->recovered);
}
