/* Batches: which changes leave together. */
#include "cache/write/writeback_inside.h"

#include "cache/read/background_fetch.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

/* ---- The changes of a batch ---- */

static bool batch_grow(struct batch *b)
{
	size_t room = b->room ? b->room * 2 : ROOM_FIRST;

	if (b->count < b->room)
		return true;
	struct op **ops = realloc(b->ops, room * sizeof *ops);

	if (ops)
		b->ops = ops;
	struct change *changes = realloc(b->changes, room * sizeof *changes);

	if (changes)
		b->changes = changes;
	if (ops && changes)
		b->room = room;
	return ops && changes;
}

void batch_release(struct batch *b)
{
	free(b->ops);
	free(b->changes);
	free(b->results);
	free(b->contents);
	*b = (struct batch){ 0 };
}

uint64_t *batch_numbers(const struct batch *b, size_t *count)
{
	size_t room = 0;

	*count = 0;
	for (size_t n = 0; n < b->count; n++)
		room += op_numbers_count(b->ops[n]);
	uint64_t *numbers = calloc(room, sizeof *numbers);

	for (size_t n = 0; n < b->count && numbers; n++)
		if (!b->results[n].err)
			op_add_numbers(b->ops[n], numbers, count);
	return numbers;
}

/* ---- One sweep of the queue ---- */

struct gatherer {
	struct writeback *p;
	struct batch *batch;
	size_t room; /* bytes of room for contents */
	/* Only contents of files that the sandbox has: written twice, the result is the same. */
	bool is_plain;
	bool is_expedited; /* only urgent ops leave */
	/* Only small saves leave: no op holds them up but those that they are bound to. */
	bool is_small_only;
	bool is_aside;   /* small saves leave: no batch of the first record waits for the answer */
	bool has_passed; /* an op was passed over */
	bool has_recovered; /* an op of an earlier mount is in the queue */
	struct steps steps; /* where has_recovered: all changes of the batch, by their names */
};

static struct inode_ops *fresh(const struct gatherer *g, struct inode *i)
{
	struct inode_ops *b = i->pending;

	if (b->sweep == g->p->sweeps)
		return b;
	b->sweep = g->p->sweeps;
	b->is_blocked = false;
	b->busy_from = UINT64_MAX;
	b->busy_to = 0;
	b->step = b->name_step = b->version_step = 0;
	return b;
}

static bool is_plain(const struct writeback *p, const struct op *q)
{
	struct tree *t = p->cache->tree;
	struct inode *i = q->about.target;

	/* A parallel write could give the file an inode that the other writes do not expect. */
	return q->change.op == CHANGE_WRITE && i && !tree_is_provisional(t, i) &&
		!tree_may_be_copied_up(t, i);
}

/*
 * Whether others may have changed the file since: after a crash, or while the sandbox was out of
 * reach.
 */
static bool was_long_untold(const struct writeback *p, const struct op *q)
{
	return q->is_recovered || q->failures != p->failures;
}

/* Whether the change is checked against a version, which no other op may change meanwhile. */
static bool is_held_against(const struct writeback *p, const struct op *q)
{
	return was_long_untold(p, q) && q->change.version.ctime.tv_sec;
}

/*
 * Contents under way hold up only ops that overlap them. But contents of a small save in a recorded
 * batch hold up all ops of the file: a later one might leave under the other record and be done
 * first. After a kill the version that it leaves would be taken for another writer's.
 */
static void pass_sent(const struct gatherer *g, const struct op *q)
{
	bool is_write = q->change.op == CHANGE_WRITE && q->about.target &&
		!is_held_against(g->p, q) && !(q->is_counted && q->is_small_save);
	struct inode_ops *b = is_write ? fresh(g, q->about.target) : NULL;
	uint64_t end = q->change.offset + q->change.data_len;

	for (int n = 0; n < TREE_SCOPE_MAX && !b; n++)
		if (q->about.scope.inodes[n])
			fresh(g, q->about.scope.inodes[n])->is_blocked = true;
	if (!b)
		return;
	b->busy_from = q->change.offset < b->busy_from ? q->change.offset : b->busy_from;
	b->busy_to = end > b->busy_to ? end : b->busy_to;
}

static void pass(struct gatherer *g, const struct op *q)
{
	g->has_passed = true;
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n])
			fresh(g, q->about.scope.inodes[n])->is_blocked = true;
}

static bool is_held_up(const struct gatherer *g, const struct op *q)
{
	bool is_write = q->change.op == CHANGE_WRITE;
	uint64_t end = q->change.offset + q->change.data_len;

	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];
		const struct inode_ops *b = i ? fresh(g, i) : NULL;

		if (!b)
			continue;
		if (b->is_blocked)
			return true;
		if (b->busy_to &&
			(!is_write || (q->change.offset < b->busy_to && end > b->busy_from)))
			return true;
	}
	return false;
}

/* Whether `q` has to come after an op that was passed over. */
static bool is_bound(const struct gatherer *g, const struct op *q)
{
	const struct op *before;

	for (before = TAILQ_FIRST(&g->p->queue); before != q; before = TAILQ_NEXT(before, link))
		if (before->left_by != g->p->sweeps && op_is_bound_to(q, before))
			return true;
	return false;
}

/* The step needed by an op that goes on with the contents, moves or removes them. */
static size_t contents_needed(const struct inode_ops *b)
{
	return b->step ? b->step : b->version_step;
}

/*
 * A removal does not need the changes of the contents, unless others may have changed these since
 * the call.
 */
static size_t removal_needs(const struct gatherer *g, const struct op *q)
{
	struct inode *target = q->about.target ? q->about.target : q->about.scope.inodes[0];
	const struct inode_ops *b = target ? fresh(g, target) : NULL;
	bool is_late = q->about.target && was_long_untold(g->p, q);
	size_t step = !b ? 0 : is_late ? contents_needed(b) : b->name_step;

	return step || !q->about.dir ? step : fresh(g, q->about.dir)->step;
}

/* The inode that a rename replaces without a version of it; NULL: none. */
static struct inode *replaced_by(const struct op *q)
{
	const struct change *c = &q->change;
	bool is_held = c->version2.ctime.tv_sec || c->flags & (CHANGE_EXCHANGE | CHANGE_NOREPLACE);

	return c->op == CHANGE_RENAME && !is_held ? q->moved[1] : NULL;
}

struct inode *batch_replaced_late(const struct writeback *p, const struct op *q)
{
	return was_long_untold(p, q) ? replaced_by(q) : NULL;
}

/*
 * The step of the other file: in an exchange, or where a replaced file may not have come to its
 * name.
 */
static size_t step_of_other(const struct gatherer *g, const struct op *q)
{
	struct inode *exchanged = op_exchanged(q);
	struct inode *replaced = exchanged ? NULL : batch_replaced_late(g->p, q);

	if (exchanged)
		return contents_needed(fresh(g, exchanged));
	return replaced ? contents_needed(fresh(g, replaced)) : 0;
}

static size_t step_of_target(const struct gatherer *g, const struct op *q)
{
	const struct inode_ops *b =
		q->about.target && q->about.target != q->made ? fresh(g, q->about.target) : NULL;

	if (!b)
		return 0;
	bool leaves = q->is_replacement || q->change.op == CHANGE_SYNC;

	return leaves ? b->step : contents_needed(b);
}

/* Whether the op needs two others: a change can name only one. */
static bool needs_two(const struct gatherer *g, const struct op *q)
{
	size_t other = step_of_other(g, q), target = step_of_target(g, q);

	return other && target && other != target;
}

/*
 * The change without which the op makes no sense: the last one of its file, else the one that makes
 * its directory.
 */
static size_t needs_of(const struct gatherer *g, const struct op *q)
{
	const struct change_about *about = &q->about;

	if (q->is_recovered)
		return steps_needed(&g->steps, q);
	if (op_removes(q))
		return removal_needs(g, q);
	size_t step = step_of_target(g, q);

	if (!step)
		step = step_of_other(g, q);
	if (!step && about->dir)
		step = fresh(g, about->dir)->step;
	if (!step && about->dir2)
		step = fresh(g, about->dir2)->step;
	return step;
}

static void note_step(const struct gatherer *g, const struct op *q)
{
	bool is_of_name = q->made || q->moved[0];
	struct inode_ops *b = q->about.target ? fresh(g, q->about.target) : NULL;

	if (b)
		b->has_parallel_parts |= b->busy_to > 0;
	if (b && (is_of_name || op_changes_contents(q)))
		b->step = g->batch->count;
	if (b && is_of_name)
		b->name_step = g->batch->count;
	if (b && op_carries_version(q) && !b->version_step)
		b->version_step = g->batch->count;
	if (op_exchanged(q)) {
		b = fresh(g, op_exchanged(q));
		b->step = b->name_step = g->batch->count;
	}
}

static void forget(struct version *version)
{
	if (!writeback_version_is_gone(version))
		*version = (struct version){ 0 };
}

/*
 * Changes that others made at the same moment count as if they came just before: the versions are
 * not checked.
 */
static void allow_what_others_did(const struct op *q, struct change *c)
{
	if (!q->loses_conflict)
		forget(&c->version2);
	/* But a copy needs the contents that were there at the call. */
	if (c->op != CHANGE_COPY)
		forget(&c->version);
	/* An op that makes way for a file of others still expects its own file. */
	if (c->op < CHANGE_SETATTR && !q->conflicts)
		c->target = (struct expect){ 0 };
	if (q->may_replace)
		c->flags &= ~(uint32_t)(CHANGE_EXCL | CHANGE_NOREPLACE);
}

static void expect_known(const struct writeback *p, struct inode *i, struct expect *out)
{
	if (i && !tree_is_provisional(p->cache->tree, i))
		*out = tree_expect(p->cache->tree, i);
}

/*
 * An op removes, moves, links or replaces the file of its call, not one that has come to the name
 * since.
 */
static void expect_the_same(const struct writeback *p, const struct op *q, struct change *c)
{
	bool is_there = q->about.target != q->made && !q->is_replacement;

	if (is_there && c->op < CHANGE_SETATTR)
		expect_known(p, q->about.target, &c->target);
	expect_known(p, replaced_by(q), &c->target2);
}

/*
 * Whether the next op on the contents has left together with `q`: then the answer to `q` comes too
 * late to give it a version.
 */
static bool moves_what_follows(const struct op *q)
{
	const struct op *follower = writeback_base_waits_locked(q);

	return follower && follower->state == OP_SENT;
}

/* Contents in parallel batches find no version that could be known before. */
static struct version version_to_find(const struct op *q)
{
	static const struct version any;
	const struct inode *i = q->change.op == CHANGE_WRITE ? q->about.target : NULL;
	bool is_parallel = i && i->pending->has_parallel_parts;

	if (writeback_version_is_gone(&q->change.version))
		return q->change.version;
	if (is_parallel || !writeback_version_matters_locked(q))
		return any;
	return op_moves_file(q) && !moves_what_follows(q) ? any : q->change.version;
}

void batch_is_late_locked(struct writeback *p, struct batch *b)
{
	struct steps steps = { .looked_at = &p->looked_at };
	/* Without memory each step looks at all steps before it. */
	bool has_steps = writeback_has_recovered_locked(p);

	for (size_t n = 0; n < b->count; n++) {
		const struct op *q = b->ops[n];
		struct change *c = &b->changes[n];

		c->version = version_to_find(q);
		c->version2 = q->change.version2;
		c->flags = q->change.flags;
		expect_the_same(p, q, c);
		batch_needs_file(b, n + 1, has_steps ? &steps : NULL);
		has_steps = has_steps && steps_reserve(&steps);
		if (has_steps)
			steps_note(&steps, q, n + 1);
	}
	steps_release(&steps);
}

/*
 * The first op of an earlier mount that needs `before`, by whatever name the file has then, and
 * does more than set attributes. These ops leave in their order, so those behind it wait, too.
 */
static struct op *first_led_to(const struct op *before)
{
	struct op *q = TAILQ_NEXT(before, link);
	char *at = strdup(before->change.path);

	for (; q; q = TAILQ_NEXT(q, link)) {
		if (!q->is_recovered)
			continue;
		bool is_of = (at && op_leads_to_from(before, q, at)) ||
			op_goes_on_with(q, op_file(before));

		if (is_of && !op_sets_attributes(q))
			break;
		at = at ? op_carry(q, at) : NULL;
	}
	free(at);
	return q;
}

/*
 * Where others may have changed a file that is moved, the next op on its contents waits for the
 * answer. Attributes that left in an earlier mount and are refused stay refused, and ops that need
 * them would be skipped for good. So the next of those waits for the answer, too.
 */
static void hold_up_follower(const struct gatherer *g, const struct op *carrier)
{
	struct op *q = NULL;

	if (carrier->sequence && op_carries_version(carrier))
		q = first_led_to(carrier);
	else if (op_moves_file(carrier) && was_long_untold(g->p, carrier))
		q = writeback_base_waits_locked(carrier);
	if (q)
		q->skip_sweep = g->p->sweeps;
}

static bool take_change(struct gatherer *g, struct op *q)
{
	struct batch *b = g->batch;

	if (!batch_grow(b) || (g->has_recovered && !steps_reserve(&g->steps)))
		return false;
	struct change *c = &b->changes[b->count];

	*c = q->change;
	if (was_long_untold(g->p, q))
		expect_the_same(g->p, q, c);
	else
		allow_what_others_did(q, c);
	if (!b->count)
		b->first_sequence = q->sequence;
	if (op_moves_file(q) || !writeback_version_matters_locked(q))
		c->version = (struct version){ 0 };
	c->needs = (uint32_t)needs_of(g, q);
	if (q->is_recovered && !q->is_overtaken && journal_base_in(c)->ctime.tv_sec &&
		batch_tells_file_of(b, q, &g->steps))
		forget(journal_base_in(c));
	b->ops[b->count++] = q;
	if (was_long_untold(g->p, q))
		batch_needs_file(b, b->count, &g->steps);
	if (op_has_contents(q))
		b->bytes += q->change.data_len;
	b->renames |= q->is_recovered && q->change.op == CHANGE_RENAME;
	note_step(g, q);
	if (g->has_recovered)
		steps_note(&g->steps, q, b->count);
	hold_up_follower(g, q);
	op_becomes(q, OP_SENT, b->first_sequence ? "sent again" : "a batch leaves");
	q->left_by = g->p->sweeps;
	return true;
}

static bool fits(const struct gatherer *g, const struct op *q)
{
	size_t len = op_has_contents(q) ? q->change.data_len : 0;

	return g->batch->count < WRITEBACK_CHANGES_MAX && g->batch->bytes + len <= g->room &&
		batch_takes_locked(g->p, g->batch, len);
}

/*
 * An op that left in an earlier mount leaves again under its old number, in a batch of consecutive
 * ones.
 */
static bool fits_in_sequence(const struct batch *b, const struct op *q)
{
	return !b->count || q->sequence == (b->first_sequence ? b->first_sequence + b->count : 0);
}

/* An op that is to be bound to its inodes leaves when that is done. */
static bool is_to_be_bound(const struct writeback *p, const struct op *q)
{
	return q->is_recovered && q->order > p->by_name_to && p->binding != BINDING_NONE;
}

static bool may_leave(const struct gatherer *g, const struct op *q)
{
	if (is_to_be_bound(g->p, q))
		return false;
	if (!fits_in_sequence(g->batch, q) || writeback_waits_aside(g->p, q))
		return false;
	if (g->is_plain && !is_plain(g->p, q))
		return false;
	if ((g->is_expedited && !q->is_urgent) || (g->is_small_only && !q->is_small_save))
		return false;
	if (q->is_barrier && g->has_passed)
		return false;
	if (is_held_up(g, q) && (!g->is_small_only || is_bound(g, q)))
		return false;
	return fits(g, q) && !needs_two(g, q) && q->skip_sweep != g->p->sweeps &&
		!batch_moves_file_of(g->batch, q, &g->steps);
}

/* Gathers in the order of the queue; true: an op was taken. */
static bool gather(struct gatherer *g)
{
	struct op *q;

	g->p->sweeps++;
	g->has_passed = false;
	TAILQ_FOREACH(q, &g->p->queue, link)
	{
		bool is_taken = q->state != OP_SENT && may_leave(g, q) && take_change(g, q);

		if (is_taken)
			continue;
		if (q->state == OP_SENT)
			pass_sent(g, q);
		else
			pass(g, q);
		g->has_passed = true;
		if (q->is_barrier || (g->batch->bytes && g->batch->bytes >= g->room))
			break;
	}
	return g->batch->count > 0;
}

/* ---- Choosing a batch ---- */

/*
 * The bytes that batches under way leave free. Urgent ops may have any of them, but not while
 * writers wait for room. Other ops leave when there is room for a whole batch: a small one takes as
 * many round trips.
 */
static size_t room_of_locked(const struct writeback *p, bool is_urgent)
{
	uint64_t sent = p->bytes - p->unsent_bytes;
	/* A batch of small saves takes nothing from the others. */
	uint64_t most = WRITEBACK_SENT_MAX + (p->aside_under_way ? WRITEBACK_SMALL_MAX : 0);
	uint64_t left = sent < most ? most - sent : 0;

	if (left >= WRITEBACK_BATCH_MAX)
		return WRITEBACK_BATCH_MAX;
	return is_urgent && !writeback_is_full(p) ? (size_t)left : 0;
}

/*
 * Whether small saves are to leave in a batch of their own. The first record is for all other ops:
 * if saves took it whenever it is free, and some program always waits for the next save, a barrier
 * would wait for ever. That is true of the senders, too, and one is enough for saves.
 */
static bool has_urgent_locked(const struct writeback *p)
{
	bool is_much = writeback_load(p->changes, p->bytes) > WRITEBACK_SMALL_MAX;
	const struct op *q = is_much && !p->aside_under_way ? TAILQ_FIRST(&p->queue) : NULL;

	while (q && (q->state == OP_SENT || !q->is_small_save))
		q = TAILQ_NEXT(q, link);
	return q;
}

static bool gather_urgent_locked(struct gatherer *g)
{
	g->is_plain = false;
	g->room = WRITEBACK_SMALL_MAX;
	g->is_expedited = g->is_small_only = true;
	g->is_aside = gather(g);
	g->is_small_only = false;
	return g->is_aside;
}

/*
 * Small saves come first, with one batch under way in parallel with all others. Urgent ops come
 * next. In parallel with a recorded batch, while a call waits, only contents leave that are urgent
 * or fill a batch.
 */
static bool gather_locked(struct gatherer *g, bool is_urgent, bool has_urgent)
{
	struct writeback *p = g->p;

	if (has_urgent && gather_urgent_locked(g))
		return true;
	if (p->under_way - p->aside_under_way + 1 >= WRITEBACK_SENDERS_MAX)
		return false;
	g->is_plain = p->recorded_under_way;
	g->room = room_of_locked(p, true);
	g->is_expedited = true;
	if (is_urgent && gather(g))
		return true;
	g->room = room_of_locked(p, false);
	g->is_expedited = false;
	return (!g->is_plain || !is_urgent || writeback_is_full(p)) && gather(g);
}

/* Contents alone need no record, and may be written in parallel with others. */
static bool is_all_plain(const struct gatherer *g)
{
	for (size_t n = 0; n < g->batch->count; n++)
		if (!is_plain(g->p, g->batch->ops[n]))
			return false;
	return true;
}

static void number_locked(const struct gatherer *g)
{
	struct batch *b = g->batch;
	struct writeback *p = g->p;
	bool needs_record = b->first_sequence || !is_all_plain(g);
	uint64_t aside = g->is_aside ? SEQUENCE_ASIDE : 0;

	for (size_t n = 0; n < b->count; n++)
		b->ops[n]->is_counted = needs_record;
	if (b->first_sequence)
		return;
	if (needs_record)
		b->first_sequence = (p->sequences + 1) | aside;
	else
		b->ticket = p->sequences + 1;
	p->sequences += needs_record ? b->count : 1;
	if (!needs_record)
		TAILQ_INSERT_TAIL(&p->plain, b, link);
}

static void note_under_way_locked(const struct gatherer *g)
{
	struct writeback *p = g->p;
	struct batch *b = g->batch;

	p->under_way++;
	p->departures++;
	b->is_aside = g->is_aside || b->first_sequence & SEQUENCE_ASIDE;
	p->aside_under_way |= b->is_aside;
	p->recorded_under_way |= b->first_sequence && !b->is_aside;
}

static void trace_batch(const struct gatherer *g, bool is_urgent, bool has_urgent)
{
	const struct batch *b = g->batch;

	log_debug(LOG_WRITE, "a batch of %zu changes, %zu bytes, leaves %s%s: %s", b->count,
		b->bytes, b->first_sequence ? "recorded" : "unrecorded",
		b->is_aside ? ", aside" : "",
		has_urgent          ? "a small save is waited for"
			: is_urgent ? "somebody waits"
				    : "its time has come");
}

bool batch_gather_locked(struct writeback *p, struct batch *b, int64_t *next_ms)
{
	struct gatherer g = { .p = p,
		.batch = b,
		.has_recovered = writeback_has_recovered_locked(p),
		.steps.looked_at = &p->looked_at };
	int64_t now_ms = monotonic_ms();
	bool is_urgent;

	*b = (struct batch){ 0 };
	if (!writeback_is_due_locked(p, now_ms, next_ms, &is_urgent))
		return false;
	bool has_urgent = has_urgent_locked(p);

	if (batch_waits_alone_locked(p)) {
		*next_ms = now_ms + WRITEBACK_WAIT_MOST_MS;
		return false;
	}
	if (!p->recorded_under_way || has_urgent)
		writeback_keep_other_times_locked(p, p->recorded_under_way);
	bool has_some = gather_locked(&g, is_urgent, has_urgent);

	steps_release(&g.steps);
	if (!has_some) {
		/*
		 * All due ops wait for the batches under way. An op that is added now wakes no
		 * sender, and may not have to wait: so check again soon.
		 */
		*next_ms = now_ms + WRITEBACK_WAIT_MOST_MS;
		return false;
	}
	p->sent += b->count;
	p->unsent_bytes -= b->bytes;
	number_locked(&g);
	note_under_way_locked(&g);
	trace_batch(&g, is_urgent, has_urgent);
	return true;
}

/* ---- Settled numbers ---- */

_Static_assert(WRITEBACK_SENDERS_MAX <= PLAIN_OPEN_MAX, "all under way are reported");

/*
 * Counts up to the last number in the journal. Where the clock is set back, the next mount counts
 * on from there, and gives out again those numbers that were never noted. Recorded batches may have
 * old numbers and do not count.
 */
static struct closed_batches closed_batches_locked(struct writeback *p)
{
	struct closed_batches closed = { .below = journal_next_sequence(p->journal) };
	const struct batch *plain;
	size_t count = 0;

	TAILQ_FOREACH(plain, &p->plain, link)
	{
		closed.open[count++] = plain->ticket;
	}
	return closed;
}

void batch_learn_closed_locked(struct writeback *p, struct batch *b)
{
	b->closed = closed_batches_locked(p);
}

/*
 * Applied twice these changes have the same result. And they may take so long that no other request
 * should wait for them.
 */
static bool may_be_done_twice(const struct change *c)
{
	return c->op == CHANGE_FALLOCATE || c->op == CHANGE_COPY || c->op == CHANGE_SYNC;
}

uint64_t writeback_next_number(struct writeback *p)
{
	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	uint64_t number = ++p->asked;

	pthread_mutex_unlock(&p->lock);
	return number;
}

void writeback_number_asked(struct writeback *p, uint64_t number, struct apply_request *request)
{
	if (!p)
		return;
	if (!may_be_done_twice(request->changes))
		request->once = number ? number : writeback_next_number(p);
	pthread_mutex_lock(&p->lock);
	request->closed = closed_batches_locked(p);
	pthread_mutex_unlock(&p->lock);
	memcpy(request->journal, journal_id(p->journal), sizeof request->journal);
	request->is_plain = true;
}

void batch_close_locked(struct writeback *p, struct batch *b)
{
	if (b->ticket)
		TAILQ_REMOVE(&p->plain, b, link);
}

/* ---- Preparing a batch ---- */

/* Fills in the inodes that the sandbox has by now. */
static void put_expected(struct writeback *p, const struct op *q, struct change *c)
{
	bool is_known = q->about.target && q->about.target != q->made && !q->is_replacement;

	if (!is_known || c->op < CHANGE_SETATTR)
		return;
	if (op_replaces_made(q))
		c->target2 = tree_expect_replaced(p->cache->tree, q->about.target);
	else if (c->op != CHANGE_PLACE && c->op != CHANGE_COPY)
		c->target = tree_expect(p->cache->tree, q->about.target);
	else if (!q->moved[0])
		c->target2 = tree_expect(p->cache->tree, q->about.target);
}

static enum err read_contents(struct writeback *p, struct batch *b, struct error *e)
{
	size_t at = 0;

	for (size_t n = 0; n < b->count; n++) {
		const struct op *q = b->ops[n];

		put_expected(p, q, &b->changes[n]);
		if (!op_has_contents(q))
			continue;
		enum err kind = op_read_contents(q, p->journal, b->contents + at, e);

		if (kind == ERR_IO)
			b->damaged = n + 1;
		if (kind)
			return kind;
		b->changes[n].data = b->contents + at;
		at += q->change.data_len;
	}
	return ERR_OK;
}

/* Called before the request: no result is a refusal yet. */
static enum err note_sent(struct writeback *p, const struct batch *b, struct error *e)
{
	size_t count;
	AUTO_FREE uint64_t *numbers = batch_numbers(b, &count);

	if (!numbers)
		return error_set(e, ERR_NO_MEMORY, "a batch of changes");
	if (!b->first_sequence)
		return journal_note_left(p->journal, b->ticket, numbers, count, e);
	return journal_note_sent(p->journal, b->first_sequence, numbers, count, e);
}

enum err batch_prepare(struct writeback *p, struct batch *b, struct error *e)
{
	if (!b->results)
		b->results = calloc(b->count, sizeof *b->results);
	if (!b->contents)
		b->contents = malloc(b->bytes ? b->bytes : 1);
	if (!b->results || !b->contents)
		return error_set(e, ERR_NO_MEMORY, "a batch of changes");
	enum err kind = read_contents(p, b, e);

	if (!kind)
		kind = note_sent(p, b, e);
	b->is_ready = !kind;
	return kind;
}
