/* The threads that send what is pending. */
#include "cache/pending_inside.h"

#include "cache/cache_inside.h"
#include "cache/wait.h"
#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* ---- When one may leave ---- */

bool backlog_is_sending(const struct backlog *b)
{
	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++)
		if (b->sending[n].number)
			return true;
	return false;
}

/* Not even a mouthful more has room. */
static bool is_full(const struct backlog *b)
{
	return b->gathered.bytes + PENDING_MOUTHFUL >= PENDING_GATHER_MAX;
}

struct sending *backlog_place(struct backlog *b)
{
	bool may_overlap = is_full(b);
	struct sending *place = NULL;

	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++) {
		struct sending *s = &b->sending[n];

		if (!s->number)
			place = s;
		else if (!may_overlap || !pieces_are_apart(&s->pieces, &b->gathered))
			return NULL;
	}
	return b->gathered.count ? place : NULL;
}

/* ---- One batch ---- */

struct batch {
	struct backlog *from;
	struct sending *sending; /* a place of from's */
	struct call call;
	struct change *changes;
	struct change_result *results;
	size_t count, done; /* done: so many at the front */
};

static enum err batch_result(struct batch *b, const char *path, struct error *e)
{
	while (b->done < b->count) {
		const struct change *change = &b->changes[b->done];
		const struct change_result *r = &b->results[b->done];

		if (r->err)
			return error_set(e, r->err, "%s: %s", path,
				r->why[0] ? r->why : error_words(r->err));
		if (r->count < change->data_len)
			return error_set(e, ERR_NO_SPACE, "%s: %llu of %zu bytes written", path,
				(unsigned long long)r->count, change->data_len);
		b->done++;
	}
	return ERR_OK;
}

/* May come again when the file was renamed meanwhile: with what is not done. */
static enum err ask_batch(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct batch *b = context;
	struct apply_request request = { .changes = b->changes + b->done,
		.changes_count = b->count - b->done };

	for (size_t n = b->done; n < b->count; n++) {
		b->changes[n].path = path;
		b->changes[n].needs = (uint32_t)(n - b->done);
		b->results[n] = (struct change_result){ 0 };
	}
	enum err kind = metered_apply(&c->metered, &b->call, &request, b->results + b->done, e);

	return kind ? kind : batch_result(b, path, e);
}

static enum err batch_fill(struct pending *p, struct batch *b, struct error *e)
{
	struct expect target = tree_expect(p->cache->tree, b->from->inode);
	const struct pieces *pieces = &b->sending->pieces;

	b->call =
		(struct call){ .progress_ms = p->cache->options.progress_ms, .cancel = &p->cancel };
	b->count = pieces->count;
	b->changes = calloc(b->count, sizeof *b->changes);
	b->results = calloc(b->count, sizeof *b->results);
	if (!b->changes || !b->results)
		return error_set(e, ERR_NO_MEMORY, "a batch of writes");
	pieces_changes(pieces, b->changes);
	for (size_t n = 0; n < b->count; n++)
		b->changes[n].target = target;
	return ERR_OK;
}

static void batch_release(struct batch *b)
{
	free(b->changes);
	free(b->results);
}

/* ---- What it answered ---- */

/* Somebody in the sandbox appended before us: what the kernel has cached of the end is not the end. */
static bool landed_elsewhere(const struct batch *b)
{
	const struct piece *one;
	size_t n = 0;

	TAILQ_FOREACH(one, &b->sending->pieces.list, link)
	{
		if (n < b->done && one->op == CHANGE_APPEND && b->results[n].offset != one->offset)
			return true;
		n++;
	}
	return false;
}

/* The size that a file of `size` bytes has once all the rest is done, too. */
static uint64_t end_of_rest(const struct backlog *b, uint64_t size)
{
	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++)
		size = pieces_end(&b->sending[n].pieces, size);
	return pieces_end(&b->gathered, size);
}

static void adopt_answer_locked(struct pending *p, struct backlog *from, const struct attr *attr)
{
	struct cache *c = p->cache;
	struct tree_foresight rest = { .end = end_of_rest(from, attr->size), .now = attr->mtime };

	from->answered = attr->ctime;
	if (from->gathered.count || backlog_is_sending(from))
		tree_adopt_and_foresee(
			c->tree, &from->scope, from->inode, attr, cache_attr_until(c), &rest);
	else
		tree_adopt(c->tree, &from->scope, from->inode, attr, cache_attr_until(c));
}

static bool is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Whether no answer before tells of a later state of the file. Of two batches at once either may be answered first. */
static bool is_latest(const struct batch *b, const struct attr *attr)
{
	return !b->sending->overlaps || is_after(attr->ctime, b->from->answered);
}

static void remember_refusal_locked(struct pending *p, const struct batch *b, const struct error *e)
{
	struct backlog *from = b->from;
	uint64_t number = b->sending->number;

	if (number > from->refused_number)
		from->refused_number = number;
	if (number > p->refused_number)
		p->refused_number = number;
	p->refused = *e;
	if (!from->for_handle)
		from->refused = *e;
	from->for_handle = from->for_barrier = true;
}

static void answered_locked(struct pending *p, const struct batch *b, const struct error *e)
{
	struct backlog *from = b->from;
	const struct change_result *last =
		b->results && b->count ? &b->results[b->count - 1] : NULL;
	bool is_known = !e->kind && last->has_attr && is_latest(b, &last->attr);

	if (e->kind)
		remember_refusal_locked(p, b, e);
	p->cost -= b->sending->pieces.cost;
	pieces_release(&b->sending->pieces);
	b->sending->number = 0;
	if (is_known)
		adopt_answer_locked(p, from, &last->attr);
	else
		tree_doubt(p->cache->tree, from->inode);
	if (!from->gathered.count && !backlog_is_sending(from))
		tree_change_ends(p->cache->tree, &from->scope);
	p->answers++;
	p->under_way--;
}

/* Takes what is gathered. */
static struct batch batch_of_locked(struct backlog *from)
{
	struct sending *place = backlog_place(from);

	place->overlaps = backlog_is_sending(from);
	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++)
		from->sending[n].overlaps |= place->overlaps;
	pieces_take(&place->pieces, &from->gathered);
	place->number = from->gathered_number;
	return (struct batch){ .from = from, .sending = place };
}

/* Sends what is gathered, without the lock meanwhile. */
static void send_locked(struct pending *p, struct backlog *from)
{
	struct batch b = batch_of_locked(from);
	struct error e = { 0 };

	p->under_way++;
	pthread_mutex_unlock(&p->lock);
	enum err kind = batch_fill(p, &b, &e);

	if (!kind)
		kind = cache_with_path(p->cache, from->inode, NULL, ask_batch, &b, &e);
	bool surprise = kind || landed_elsewhere(&b);

	if (kind)
		cache_note_refused(p->cache, from->inode, &e);
	pthread_mutex_lock(&p->lock);
	answered_locked(p, &b, &e);
	/* The kernel shows what the file does not have. */
	if (surprise)
		cache_tell_inode(p->cache, from->inode, true);
	backlog_rest_locked(p, from);
	pthread_cond_broadcast(&p->changed);
	batch_release(&b);
}

/* ---- The threads ---- */

static bool is_due(const struct backlog *b, int64_t now_ms)
{
	return b->gathered.bytes >= PENDING_MOUTHFUL || b->due_ms <= now_ms;
}

/* The one that waits longest of those that are due; NULL: none, *next_ms says when to look again. */
static struct backlog *due_locked(const struct pending *p, int64_t *next_ms)
{
	int64_t now_ms = monotonic_ms();
	struct backlog *b, *due = NULL;

	*next_ms = now_ms + CALL_PROGRESS_MS;
	TAILQ_FOREACH(b, &p->backlogs, link)
	{
		if (!backlog_place(b))
			continue;
		if (is_due(b, now_ms) && (!due || b->due_ms < due->due_ms))
			due = b;
		if (b->due_ms < *next_ms)
			*next_ms = b->due_ms;
	}
	return due;
}

static void *send_all(void *context)
{
	struct pending *p = context;
	int64_t next_ms;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		struct backlog *b = due_locked(p, &next_ms);

		if (!b) {
			wait_until_locked(&p->changed, &p->lock, next_ms);
			continue;
		}
		/* Somebody must see when the next file is due. */
		p->senders_idle--;
		senders_wake_locked(p);
		send_locked(p, b);
		p->senders_idle++;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void senders_wake_locked(struct pending *p)
{
	pthread_cond_broadcast(&p->changed);
	if (p->senders_idle || p->senders_count == PENDING_SENDERS_MAX || p->stopping)
		return;
	if (pthread_create(&p->senders[p->senders_count], NULL, send_all, p))
		return;
	p->senders_count++;
	p->senders_idle++;
}

void senders_stop(struct pending *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	cancel_throw(&p->cancel);
	for (unsigned n = 0; n < p->senders_count; n++)
		pthread_join(p->senders[n], NULL);
}
