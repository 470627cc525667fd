#include "cache/lease/validity.h"

#include "cache/lease/lease.h"
#include "cache/lease/listing.h"
#include "cache/session/session.h"
#include "cache/session/wait.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"

#include <stdlib.h>

/* Where more has changed (an installation, say), it is cheaper to learn anew what is used. */
#define CHANGES_MAX 50000

/* Two ticks of the coarsest clock that stamps changes (CONFIG_HZ=100), in ns. */
#define TICK_NS 20000000
/*
 * A sandbox's clock that is this far behind what it must show was set back: then its stamps say
 * nothing. In s.
 */
#define SET_BACK_S 1

/*
 * While the sandbox is offline what is known is shown for OFFLINE_MS at a time, or for as long as
 * the last question took in vain. Then a caller asks again. It waits at most PATIENCE_LEAST_MS the
 * first time, and up to twice as long at each further try: there are sandboxes that answer slowly.
 * Design decisions.
 */
#define OFFLINE_MS        5000
#define PATIENCE_LEAST_MS 3000

struct validity {
	struct cache *cache;
	int64_t least_ms;     /* the shortest time for which the tree is valid */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool is_auditing;
	const struct progress *auditor; /* the progress of the audit under way */
	struct error failure;           /* the failure of the last audit; kind 0: it did not fail */
	struct timespec from; /* the sandbox's clock: every leased answer was asked for later */
	int64_t begun_ms;     /* when the tree last became valid, monotonic */
	int64_t cost_ms;      /* the cost of the costliest listing since */
	/* The deadline of the next audit, where the last one was in vain; 0: it was not. */
	int64_t audit_limit_ms;
	bool must_ask;           /* the tree must not be shown before the sandbox answered */
	uint64_t must_ask_since; /* an answer to a question after this serial number of the tree */
};

/* ---- Life ---- */

enum err validity_new(struct validity **out, struct cache *c, struct error *e)
{
	const struct cache_options *o = &c->options;

	*out = NULL;
	if (o->attr_ms <= 0 || o->entry_ms <= 0)
		return ERR_OK;
	struct validity *t = calloc(1, sizeof *t);

	if (!t)
		return error_set(e, ERR_NO_MEMORY, "cache");
	t->cache = c;
	t->least_ms = o->attr_ms < o->entry_ms ? o->attr_ms : o->entry_ms;
	t->begun_ms = monotonic_ms();
	t->from = cache_clock(c);
	pthread_mutex_init(&t->lock, NULL);
	condition_init(&t->changed);
	tree_holds(c->tree, o->attr_ms, t->begun_ms + t->least_ms);
	*out = t;
	return ERR_OK;
}

void validity_free(struct validity *t)
{
	if (!t)
		return;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- How long validity lasts ---- */

static int64_t lasts_ms(const struct validity *t, int64_t cost_ms)
{
	int64_t worth_ms =
		cost_ms * 10 < LISTING_BELIEVED_MAX_MS ? cost_ms * 10 : LISTING_BELIEVED_MAX_MS;

	return worth_ms > t->least_ms ? worth_ms : t->least_ms;
}

void validity_note_cost(struct validity *t, int64_t cost_ms)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	if (!t->audit_limit_ms && cost_ms > t->cost_ms &&
		lasts_ms(t, cost_ms) > lasts_ms(t, t->cost_ms)) {
		t->cost_ms = cost_ms;
		tree_validate_longer(t->cache->tree, t->begun_ms + lasts_ms(t, cost_ms));
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- Audits ---- */

/* Whole seconds, since the tools of some sandboxes report no others. */
static int64_t since_ns(struct timespec from)
{
	return (from.tv_sec - (from.tv_nsec < TICK_NS)) * 1000000000;
}

static void nobody_waits(void *context, const struct inode *dir, const struct listing_outcome *o)
{
	(void)context, (void)dir, (void)o;
}

static enum err plan_audit(struct validity *t, struct timespec from, struct listing_plan *plan)
{
	*plan = (struct listing_plan){
		.depth = 1, .entries_max = CHANGES_MAX, .changed_since_ns = since_ns(from)
	};
	if (!from.tv_sec)
		return ERR_UNSUPPORTED; /* no answer had the time */
	plan->starts = tree_known_dirs(t->cache->tree, &plan->starts_count);
	return plan->starts ? ERR_OK : ERR_NO_MEMORY;
}

static int64_t validated_until_locked(const struct validity *t)
{
	if (lease_is_live(t->cache->lease))
		return TREE_HELD;
	return t->begun_ms + lasts_ms(t, t->cost_ms);
}

/* An answer to a question from before a command's end says nothing of what the command did. */
static void is_received_locked(struct validity *t, const struct tree_listing *listing)
{
	if (t->audit_limit_ms)
		log_warn(LOG_CACHE, "the sandbox can be reached again");
	t->audit_limit_ms = 0;
	if (tree_validate(t->cache->tree, validated_until_locked(t), listing))
		t->must_ask &= listing->seen <= t->must_ask_since;
}

void validity_began(struct validity *t, const struct tree_listing *first)
{
	pthread_mutex_lock(&t->lock);
	t->from = first->now;
	t->begun_ms = monotonic_ms();
	t->cost_ms = 0;
	is_received_locked(t, first);
	pthread_mutex_unlock(&t->lock);
}

/* Validity counts from the time of the request. */
static void establish(struct validity *t, const struct listing *l)
{
	pthread_mutex_lock(&t->lock);
	t->from = l->learned.audits_from;
	t->begun_ms = l->asked_ms;
	t->cost_ms = monotonic_ms() - l->asked_ms;
	log_debug(LOG_LEASE, "an audit took %lld ms: what is known is valid again",
		(long long)t->cost_ms);
	is_received_locked(t, &l->learned);
	pthread_mutex_unlock(&t->lock);
	stats_add(&t->cache->stats, STATS_AUDITS, 1);
}

/* Takes the plan. An answer that breaks off says nothing of the rest. */
static enum err run_audit(
	struct validity *t, const struct call *call, struct listing_plan *plan, struct error *e)
{
	struct listing l;
	enum err kind = listing_init(&l, t->cache, plan, nobody_waits, NULL, e);

	if (!kind)
		kind = listing_run(&l, call, e);
	if (!kind && !listing_is_whole(&l))
		kind = error_set(e, ERR_TOO_LARGE, "too much changed");
	if (!kind && l.end.tv_sec + SET_BACK_S < l.now.tv_sec)
		kind = error_set(e, ERR_STALE, "the sandbox's clock was set back");
	if (!kind)
		establish(t, &l);
	else
		log_debug(LOG_LEASE, "an audit failed: %s", e->text);
	listing_release(&l);
	return kind;
}

static void start_anew(struct validity *t)
{
	struct cache *c = t->cache;

	tree_forget(c->tree);
	const struct tree_listing now = { .seen = tree_seen(c->tree), .now = cache_clock(c) };

	validity_began(t, &now);
}

/* Whether another question would be over in time. */
static bool has_time(const struct call *call)
{
	return call_left_ms(call) > call_progress_ms(call) / 2;
}

static enum err audit(
	struct validity *t, struct timespec from, const struct call *call, struct error *e)
{
	struct listing_plan plan;
	struct error why = { 0 };
	enum err kind = plan_audit(t, from, &plan);

	tree_hold(t->cache->tree);
	if (!kind)
		kind = run_audit(t, call, &plan, &why);
	/*
	 * After a stream that broke during the audit none begins at once: now the audit is a call
	 * of its own.
	 */
	if (kind == ERR_UNREACHABLE && has_time(call) && !plan_audit(t, from, &plan))
		kind = run_audit(t, call, &plan, &why);
	if (kind && !cache_is_of_the_call(kind) && !cache_is_offline(kind)) {
		log_debug(LOG_LEASE, "what is known is learned anew: %s", why.text);
		start_anew(t);
		kind = ERR_OK;
	}
	tree_release(t->cache->tree);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

void validity_lost(struct validity *t)
{
	if (t && tree_is_bare(t->cache->tree))
		start_anew(t);
}

/*
 * The failure of an audit is the answer of all callers that waited for it: one after the other they
 * would only wait as long again.
 */
static enum err take_turn_locked(struct validity *t, const struct call *call, struct error *e)
{
	const bool has_waited = t->is_auditing;
	enum err kind = ERR_OK;

	while (!kind && t->is_auditing)
		kind = wait_for_other_locked(&t->changed, &t->lock, call, t->auditor, e);
	if (!kind && has_waited && t->failure.kind)
		kind = error_set(e, t->failure.kind, "%s", t->failure.text);
	return kind;
}

/*
 * An interruption of one caller, or a shorter deadline than others have, is no answer for another.
 */
static void end_audit(struct validity *t, const struct error *failure)
{
	pthread_mutex_lock(&t->lock);
	t->is_auditing = false;
	t->auditor = NULL;
	t->failure = *failure;
	if (failure->kind == ERR_INTERRUPTED || (cache_is_offline(failure->kind) && !t->must_ask))
		t->failure.kind = ERR_OK;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* ---- While the sandbox is offline ---- */

static int64_t full_limit_ms(const struct validity *t)
{
	return call_progress_ms(&(struct call){ .progress_ms = cache_progress_ms(t->cache) });
}

/* A caller with a shorter deadline than others does not decide for them. */
static bool may_go_on_locked(const struct validity *t, const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);
	int64_t wanted_ms = t->audit_limit_ms ? t->audit_limit_ms : full_limit_ms(t);

	return !t->must_ask && (limit_ms < 0 || (wanted_ms >= 0 && limit_ms >= wanted_ms));
}

/* A reader of what is known does not need the sandbox. The question took `cost_ms`, in vain. */
static void go_on_locked(struct validity *t, int64_t cost_ms, const struct error *why)
{
	int64_t lasts = cost_ms > OFFLINE_MS ? cost_ms : OFFLINE_MS, full_ms = full_limit_ms(t);

	if (!t->audit_limit_ms)
		log_warn(LOG_CACHE, "what is known is shown until the sandbox can be asked: %s",
			why->text);
	if (!t->audit_limit_ms)
		t->audit_limit_ms = PATIENCE_LEAST_MS;
	else if (cost_ms >= t->audit_limit_ms / 2)
		t->audit_limit_ms *= 2;
	if (full_ms >= 0 && t->audit_limit_ms > full_ms)
		t->audit_limit_ms = full_ms;
	tree_validate_offline(t->cache->tree, monotonic_ms() + lasts);
}

/* Whether an offline sandbox was the only failure, so that what is known can be shown. */
static bool go_on_offline(
	struct validity *t, const struct call *call, int64_t cost_ms, const struct error *why)
{
	pthread_mutex_lock(&t->lock);
	bool may = cache_is_offline(why->kind) && may_go_on_locked(t, call);

	if (may)
		go_on_locked(t, cost_ms, why);
	pthread_mutex_unlock(&t->lock);
	return may;
}

void validity_must_ask(struct validity *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->must_ask = true;
	t->must_ask_since = tree_seen(t->cache->tree);
	pthread_mutex_unlock(&t->lock);
}

/*
 * An answer about a place that is under change here is not valid: all changes must be applied
 * first. Where the sandbox is known to be offline, the sender of those changes is the first to find
 * out that it can be reached.
 */
static enum err drain_and_audit(struct validity *t, struct timespec from, int64_t audit_limit_ms,
	const struct call *call, struct progress *progress, struct error *e)
{
	int64_t limit_ms = call_progress_ms(call);
	struct call brief = call ? *call : (struct call){ 0 };
	enum err kind = audit_limit_ms ? t->cache->upcalls.trouble(t->cache, e) : ERR_OK;

	if (audit_limit_ms && (limit_ms < 0 || limit_ms > audit_limit_ms))
		brief.progress_ms = audit_limit_ms;
	brief.progress = progress;
	if (!cache_is_offline(kind))
		kind = t->cache->upcalls.drain_to_audit(t->cache, &brief, e);
	return kind ? kind : audit(t, from, &brief, e);
}

enum err validity_restore(struct validity *t, const struct call *call, struct error *e)
{
	struct progress progress = { .since_ms = call_since_ms(call),
		.also = call ? call->progress : NULL };
	struct error why = { 0 };

	if (!t)
		return ERR_OK;
	pthread_mutex_lock(&t->lock);
	enum err kind = take_turn_locked(t, call, e);
	bool is_mine = !kind && !tree_is_valid(t->cache->tree, monotonic_ms());
	struct timespec from = t->from;
	int64_t audit_limit_ms = t->audit_limit_ms;

	t->is_auditing |= is_mine;
	if (is_mine)
		/* cppcheck-suppress autoVariables ; until end_audit() */
		t->auditor = &progress;
	pthread_mutex_unlock(&t->lock);
	if (!is_mine)
		return kind;
	int64_t begun_ms = monotonic_ms();

	if (drain_and_audit(t, from, audit_limit_ms, call, &progress, &why) &&
		go_on_offline(t, call, monotonic_ms() - begun_ms, &why))
		why = (struct error){ 0 };
	end_audit(t, &why);
	return why.kind ? error_set(e, why.kind, "%s", why.text) : ERR_OK;
}
