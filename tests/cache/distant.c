#include "tests/cache/distant.h"

#include "cache/blocks/block.h"
#include "cache/session/session.h"
#include "cache/blocks/block_store.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"
#include "providers/helper/sys.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST_WAIT_S 120

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

static struct distant *of(struct provider *p)
{
	return (struct distant *)p;
}

static struct timespec soon(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

bool stored_whole(struct block_store *s, const struct attr *version)
{
	for (uint64_t at = 0; s && at < version->size; at += BLOCK_SIZE)
		if (!block_store_has_at(s, version, at))
			return false;
	return s;
}

/* ---- The provider ---- */

/*
 * Whether this call is the apply with the number that a test has chosen. A number is chosen once.
 */
static bool take_chosen(
	const struct distant *d, const bool *held, unsigned *chosen, unsigned number)
{
	if (held != &d->hold_applies || *chosen != number)
		return false;
	*chosen = 0;
	return true;
}

/* Notes whether an apply is at work from now on; other calls are not counted. */
static void note_work_locked(struct distant *d, const bool *held, bool is_at_work)
{
	if (held != &d->hold_applies)
		return;
	d->at_work += is_at_work ? 1 : -1;
	pthread_cond_broadcast(&d->changed);
}

/* Ends as a vendor's call does: at its deadline or when the call is cancelled. */
static enum err pass_gate(struct distant *d, const bool *held, unsigned *arrived,
	const struct call *call, struct error *e)
{
	int64_t limit_ms = d->hasty_ms ? d->hasty_ms : call_progress_ms(call);
	int64_t end_ms = monotonic_ms() + limit_ms;
	enum err kind = ERR_OK;

	pthread_mutex_lock(&d->lock);
	unsigned number = ++*arrived;
	bool is_late = d->is_ending;

	pthread_cond_broadcast(&d->changed);
	note_work_locked(d, held, false);
	while (*held && !kind && !d->is_cut && !take_chosen(d, held, &d->passing, number)) {
		struct timespec look = soon(5);

		if (!is_late)
			pthread_cond_timedwait(&d->changed, &d->lock, &look);
		is_late |= take_chosen(d, held, &d->timing_out, number);
		if (call && call->cancel && cancel_thrown(call->cancel))
			kind = error_set(e, ERR_INTERRUPTED, "interrupted");
		else if (is_late || (limit_ms >= 0 && monotonic_ms() > end_ms))
			kind = error_set(e, ERR_TIMEOUT, "no progress");
	}
	note_work_locked(d, held, true);
	if (!kind && d->is_cut)
		kind = error_set(e, ERR_UNREACHABLE, "no route");
	pthread_mutex_unlock(&d->lock);
	return kind;
}

static enum err info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	(void)call;
	(void)e;
	*out = (struct sandbox_info){ .identity = of(p)->root.identity };
	return ERR_OK;
}

/* The year 2100: a file that changes again within a tick of the clock has the same times. */
#define ONE_TIME ((struct timespec){ .tv_sec = 4102444800 })

struct listing {
	list_sink sink;
	void *context;
};

struct room_listing {
	struct listing listing;
	uint64_t room;
};

static enum err list_one_time(void *context, const struct list_item *item, struct error *e)
{
	const struct listing *l = context;
	struct list_item shown = *item;

	shown.attr.mtime = shown.attr.ctime = ONE_TIME;
	return l->sink(l->context, &shown, e);
}

static enum err list_room(void *context, const struct list_item *item, struct error *e)
{
	const struct room_listing *l = context;
	struct list_item passed = *item;

	if (item->kind == LIST_END && l->room)
		passed.space = (struct space){
			.block_size = 1, .blocks = UINT64_MAX, .free = l->room, .available = l->room
		};
	return l->listing.sink(l->listing.context, &passed, e);
}

static enum err list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	static const bool never = false;
	struct distant *d = of(p);
	struct room_listing room = { { sink, context }, d->room_reported };
	struct listing l = { list_room, &room };
	const bool *held = request->depth ? &d->hold_entries : &never;
	enum err kind = pass_gate(d, held, &d->lists, call, e);

	if (kind)
		return kind;
	if (d->meanwhile)
		d->meanwhile(d, request);
	if (d->shows_one_time)
		return helper_list(&d->root, request, list_one_time, &l, e);
	return helper_list(&d->root, request, list_room, &room, e);
}

struct fetching {
	struct distant *distant;
	fetch_sink sink;
	void *context;
};

static void change_file(struct distant *d)
{
	int fd = openat(d->scratch.fd, d->changing, O_WRONLY);

	cr_assert(eq(int, (int)pwrite(fd, "NEW", 3, 0), 3));
	close(fd);
}

static enum err count_items(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetching *f = context;
	struct distant *d = f->distant;

	if (piece->kind != FETCH_DONE)
		return f->sink(f->context, piece, e);
	pthread_mutex_lock(&d->lock);
	unsigned number = ++d->items;

	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
	struct fetch_piece passed = *piece;

	if (d->shows_one_time)
		passed.attr.mtime = passed.attr.ctime = ONE_TIME;
	enum err kind = f->sink(f->context, &passed, e);

	if (number == d->change_after)
		change_file(d);
	return number == d->break_after ? error_set(e, ERR_IO, "broken off") : kind;
}

static enum err take_fetch_failure(struct distant *d, struct error *e)
{
	pthread_mutex_lock(&d->lock);
	enum err failure = d->fetch_failures ? *d->fetch_failures : ERR_OK;

	if (failure)
		d->fetch_failures++;
	pthread_mutex_unlock(&d->lock);
	return failure ? error_set(e, failure, "no answer") : ERR_OK;
}

static enum err fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t count, fetch_sink sink, void *context, struct error *e)
{
	struct distant *d = of(p);
	struct fetching f = { d, sink, context };
	enum err kind = pass_gate(d, &d->hold_fetches, &d->fetches, call, e);

	d->now_ms += d->fetch_ms;
	if (!kind)
		kind = take_fetch_failure(d, e);
	return kind ? kind : helper_fetch(&d->root, items, count, count_items, &f, e);
}

static bool may_be_refused(const struct distant *d, const struct change *c)
{
	bool is_contents = c->op == CHANGE_WRITE || c->op == CHANGE_APPEND;

	return d->refused_op ? c->op == d->refused_op : is_contents;
}

static size_t first_to_refuse(const struct distant *d, const struct apply_request *request)
{
	size_t n = 0;

	while (n < request->changes_count && !may_be_refused(d, &request->changes[n]))
		n++;
	return n;
}

static enum err take_refusal(struct distant *d, const struct apply_request *request)
{
	enum err refusal = ERR_OK;

	pthread_mutex_lock(&d->lock);
	d->changes += (unsigned)request->changes_count;
	for (size_t n = 0; n < request->changes_count; n++)
		d->syncs += request->changes[n].op == CHANGE_SYNC;
	if (first_to_refuse(d, request) < request->changes_count) {
		refusal = d->refusal;
		d->refusal = ERR_OK;
	}
	pthread_mutex_unlock(&d->lock);
	return refusal;
}

/*
 * The refused change gets the path of a file that does not exist. Changes that need it are skipped,
 * and the rest is applied.
 */
static enum err apply_without(struct distant *d, const struct apply_request *request,
	struct change_result *results, enum err refusal, struct error *e)
{
	size_t len = request->changes_count * sizeof *request->changes;
	AUTO_FREE struct change *changes = malloc(len);
	struct apply_request rest = *request;
	size_t refused = first_to_refuse(d, request);

	cr_assert(changes != NULL);
	memcpy(changes, request->changes, len);
	changes[refused].path = "nowhere/at-all";
	changes[refused].target = (struct expect){ 0 }; /* else the file is found by that */
	rest.changes = changes;
	enum err kind = helper_apply(&d->root, NULL, &rest, results, e);

	results[refused].err = refusal;
	return kind;
}

static void note_size(
	struct distant *d, const struct call *call, const struct apply_request *request)
{
	size_t bytes = 0;

	for (size_t n = 0; n < request->changes_count; n++)
		bytes += request->changes[n].data_len;
	pthread_mutex_lock(&d->lock);
	d->apply_bytes = bytes;
	pthread_mutex_unlock(&d->lock);
	call_sent(call, bytes);
}

#define LATE_MS 5

/* The delay is the same in every run of the same steps. */
static void be_late(struct distant *d)
{
	struct timespec end = soon(LATE_MS);
	int failed = 0;

	pthread_mutex_lock(&d->lock);
	unsigned until = d->steps + (d->late_most ? d->applies * 7 % d->late_most : 0);

	while (d->steps < until && !failed)
		failed = pthread_cond_timedwait(&d->changed, &d->lock, &end);
	pthread_mutex_unlock(&d->lock);
}

static bool is_lost(struct distant *d, const struct apply_request *request)
{
	pthread_mutex_lock(&d->lock);
	bool is_recorded = request->first_sequence && !request->is_plain;

	d->recorded += is_recorded;
	bool is = d->lose_answers || d->lose_next ||
		(is_recorded && d->lose_every && d->recorded % d->lose_every == 0);

	d->lose_next -= d->lose_next > 0;
	pthread_mutex_unlock(&d->lock);
	return is;
}

static void forget_attrs(
	const struct distant *d, const struct apply_request *request, struct change_result *results)
{
	for (size_t n = 0; n < request->changes_count && d->tells_no_attrs; n++)
		results[n].has_attr = false;
}

static void keep_copy(struct distant *d, const struct apply_request *request)
{
	struct change *change = malloc(sizeof *change);

	cr_assert(eq(sz, request->changes_count, 1));
	*change = request->changes[0];
	change->path = strdup(change->path);
	change->data = memcpy(malloc(change->data_len), change->data, change->data_len);
	d->copy = *request;
	d->copy.changes = change;
}

static void forget_copy(struct distant *d)
{
	if (!d->copy.changes)
		return;
	free((char *)d->copy.changes->path);
	free((void *)d->copy.changes->data);
	free((struct change *)d->copy.changes);
}

enum err distant_deliver_copy(struct distant *d)
{
	struct change_result result;

	cr_assert(ne(ptr, (void *)d->copy.changes, NULL));
	return helper_apply(&d->root, NULL, &d->copy, &result, NULL);
}

static void stamp_one_time(
	const struct distant *d, const struct apply_request *request, struct change_result *results)
{
	for (size_t n = 0; n < request->changes_count && d->changes_at_one_time; n++) {
		struct change_result *r = &results[n];

		r->parent.ctime = r->parent2.ctime = ONE_TIME;
		if (S_ISDIR(r->attr.mode))
			r->attr.ctime = ONE_TIME;
	}
}

/* Acts as if another change came between this one and the look at the file that it left. */
static void look_again(
	const struct distant *d, const struct apply_request *request, struct change_result *results)
{
	for (size_t n = 0; n < request->changes_count && d->looks_late; n++) {
		struct attr *attr = &results[n].attr;
		struct stat st;

		if (!results[n].has_attr ||
			fstatat(d->scratch.fd, request->changes[n].path, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		attr->size = (uint64_t)st.st_size;
		attr->mtime = st.st_mtim;
		attr->ctime = st.st_ctim;
	}
}

static void fall_short(
	struct distant *d, const struct apply_request *request, struct change_result *results)
{
	for (size_t n = 0; n < request->changes_count && d->falls_short; n++)
		if (results[n].count)
			results[n].count--;
}

/* Acts as an upload to a full disk: nothing of the request is carried out. */
static enum err find_room(
	const struct distant *d, const struct call *call, size_t bytes, struct error *e)
{
	size_t room = d->room_bytes;

	if (!room || bytes <= room)
		return ERR_OK;
	call_has_no_room(call);
	return error_set(e, d->no_room_as ? d->no_room_as : ERR_NO_SPACE, "no room");
}

/* Acts as a proxy with a limit: the sandbox receives nothing. */
static enum err pass_gateway(struct distant *d, const struct call *call,
	const struct apply_request *request, struct error *e)
{
	size_t bytes = 0;

	for (size_t n = 0; n < request->changes_count; n++)
		bytes += request->changes[n].data_len;
	if ((!d->takes_bytes || bytes <= d->takes_bytes) &&
		(!d->takes_changes || request->changes_count <= d->takes_changes))
		return find_room(d, call, bytes, e);
	foreign_note(&d->gateway, "413 too large");
	call_is_too_large(call);
	return error_set(e, ERR_UNREACHABLE, "413 too large");
}

static enum err do_apply(struct distant *d, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	bool does_first = d->does_first;

	note_size(d, call, request);
	if (distant_applies(d) + 1 == d->copied)
		keep_copy(d, request);
	enum err kind = does_first ? ERR_OK : pass_gate(d, &d->hold_applies, &d->applies, call, e);

	if (!kind)
		kind = pass_gateway(d, call, request, e);
	enum err refusal = kind ? kind : take_refusal(d, request);

	if (kind)
		return kind;
	be_late(d);
	if (!refusal) {
		kind = helper_apply(&d->root, NULL, request, results, e);
		be_late(d);
		if (!kind && does_first)
			kind = pass_gate(d, &d->hold_applies, &d->applies, call, e);
		look_again(d, request, results);
		forget_attrs(d, request, results);
		stamp_one_time(d, request, results);
		fall_short(d, request, results);
		return is_lost(d, request)
			? error_set(e, d->lost_as ? d->lost_as : ERR_UNREACHABLE, "lost")
			: kind;
	}
	return apply_without(d, request, results, refusal, e);
}

static void note_work(struct distant *d, bool is_at_work)
{
	pthread_mutex_lock(&d->lock);
	note_work_locked(d, &d->hold_applies, is_at_work);
	pthread_mutex_unlock(&d->lock);
}

static enum err apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct distant *d = of(p);

	note_work(d, true);
	enum err kind = do_apply(d, call, request, results, e);

	note_work(d, false);
	return kind;
}

static enum err watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	struct distant *d = of(p);

	if (!d->tells_changes)
		return error_set(e, ERR_UNSUPPORTED, "no stream of changes");
	return helper_watch(&d->root, call, request, sink, context, e);
}

static void release(struct provider *p)
{
	(void)p;
}

static enum err execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	(void)call, (void)request, (void)sink, (void)context, (void)e;
	*result = (struct execute_result){ .has_exit_code = true, .may_have_run = true };
	cr_assert(zero(int, sys_stat(of(p)->root.dir_fd, "", &result->root)));
	return ERR_OK;
}

static const struct provider_ops distant_ops = { .name = "distant",
	.title = "Distant",
	.key_names = "",
	.release = release,
	.info = info,
	.execute = execute,
	.list = list,
	.fetch = fetch,
	.apply = apply,
	.watch = watch };

/* ---- Life ---- */

static void set(struct distant *d, bool *what, bool value)
{
	pthread_mutex_lock(&d->lock);
	*what = value;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static void inode_changed(void *context, struct inode *i, bool pages)
{
	struct distant *d = context;

	(void)i;
	pthread_mutex_lock(&d->lock);
	d->page_reports += pages;
	pthread_mutex_unlock(&d->lock);
}

static int64_t tell_time(void *context)
{
	const struct distant *d = context;

	return d->now_ms;
}

static void new_cache(struct distant *d, bool write_through, const char *contents_dir)
{
	struct cache_options options = { .attr_ms = d->belief_ms,
		.entry_ms = d->belief_ms,
		.progress_ms = d->progress_ms ? d->progress_ms : TEST_WAIT_S * 1000,
		.is_remote = true,
		.write_through = write_through,
		.close_waits = !d->tells_changes,
		.contents_dir = contents_dir,
		.stream_idle_ms = AN_HOUR_MS,
		.clocks = &d->clocks };
	struct cache_observer observer = { .inode_changed = inode_changed, .context = d };
	struct error e = { 0 };
	char journal[128];

	snprintf(journal, sizeof journal, "%s/journal", d->journal.path);
	options.journal_dir = d->keeps_journal ? journal : NULL;
	cr_assert(
		eq(int, cache_new(&d->cache, &d->base, &options, NULL, &e), ERR_OK), "%s", e.text);
	cache_observe(d->cache, &observer);
}

static void await_recovered(struct distant *d)
{
	const struct call call = { .progress_ms = cache_progress_ms(d->cache) };

	writeback_drain_all_quietly(d->cache->writeback, &call, NULL);
}

void distant_remount_at_once(struct distant *d, const char *contents_dir)
{
	cache_free(d->cache);
	new_cache(d, false, contents_dir);
}

void distant_remount(struct distant *d, const char *contents_dir)
{
	distant_remount_at_once(d, contents_dir);
	await_recovered(d);
}

void distant_keep_journal(struct distant *d)
{
	scratch_make(&d->journal);
	d->keeps_journal = true;
	distant_remount(d, NULL);
}

void distant_break_off(struct distant *d)
{
	set(d, &d->is_ending, true);
	cache_free(d->cache);
	d->cache = NULL;
	set(d, &d->is_ending, false);
}

static void start(struct distant *d, bool write_through, int64_t belief_ms, bool tells_changes)
{
	struct error e = { 0 };
	char staging[128];

	*d = (struct distant){ .base = { .ops = &distant_ops, .foreign = &d->gateway },
		.gateway = FOREIGN_ANSWERS_INIT,
		.belief_ms = belief_ms,
		.tells_changes = tells_changes,
		.clocks = { .awake_ms = tell_time, .all_ms = tell_time, .context = d } };
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	scratch_make(&d->scratch);
	snprintf(staging, sizeof staging, "%s/.staging", d->scratch.path);
	cr_assert(eq(int, root_open(&d->root, d->scratch.path, staging, &e), ERR_OK), "%s", e.text);
	new_cache(d, write_through, NULL);
}

void distant_start(struct distant *d, bool write_through)
{
	start(d, write_through, -1, false);
}

void distant_start_trusting(struct distant *d)
{
	start(d, false, TEST_WAIT_S * 1000, false);
}

void distant_start_watched(struct distant *d)
{
	start(d, false, -1, true);
}

void distant_gather_for(struct distant *d, int64_t ms)
{
	struct writeback *p = d->cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->wait_ms = p->wait_most_ms = ms;
	senders_wake_locked(p);
	pthread_mutex_unlock(&p->lock);
}

static void look_at_root(struct distant *d)
{
	struct tree_entry *entries;
	struct error e = { 0 };
	size_t count;

	cr_assert(eq(int, cache_entries(d->cache, NULL, cache_root(d->cache), &entries, &count, &e),
			  ERR_OK),
		"%s", e.text);
	cache_entries_free(d->cache, entries, count);
}

/* Two ticks of the sandbox's clock, and one more for the measurement. */
#define TICKS_NS 30000000

/*
 * The time that the cache knows of the sandbox's clock is as far behind as an answer was on its
 * way.
 */
void distant_pass_tick(struct distant *d)
{
	int64_t end_ms = monotonic_ms() + (int64_t)TEST_WAIT_S * 1000;
	struct timespec changed, now;

	clock_gettime(CLOCK_REALTIME, &changed);
	do {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the cache's clock stands still");
		usleep(1000);
		now = cache_clock(d->cache);
	} while ((now.tv_sec - changed.tv_sec) * 1000000000LL + now.tv_nsec - changed.tv_nsec <
		TICKS_NS);
}

void distant_await_deciding(struct distant *d)
{
	int64_t end_ms = monotonic_ms() + (int64_t)TEST_WAIT_S * 1000;

	for (;;) {
		look_at_root(d);
		if (tree_may_decide(d->cache->tree, cache_root(d->cache), monotonic_ms()))
			return;
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing may be decided");
		/* The thread of the stream needs the processor more than this loop does. */
		usleep(1000);
	}
}

void distant_stop(struct distant *d)
{
	cache_free(d->cache);
	forget_copy(d);
	root_close(&d->root);
	scratch_remove(&d->scratch);
	if (d->keeps_journal)
		scratch_remove(&d->journal);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
}

/* ---- The gate ---- */

void distant_hold_applies(struct distant *d, bool hold)
{
	set(d, &d->hold_applies, hold);
}

void distant_hold_fetches(struct distant *d, bool hold)
{
	set(d, &d->hold_fetches, hold);
}

void distant_hold_entries(struct distant *d, bool hold)
{
	set(d, &d->hold_entries, hold);
}

/* Returns when that one has left the gate. */
static void choose(struct distant *d, unsigned *chosen, unsigned number)
{
	struct timespec end = soon(TEST_WAIT_S * 1000);
	int failed = 0;

	pthread_mutex_lock(&d->lock);
	*chosen = number;
	pthread_cond_broadcast(&d->changed);
	while (*chosen && d->hold_applies && !failed)
		failed = pthread_cond_timedwait(&d->changed, &d->lock, &end);
	pthread_mutex_unlock(&d->lock);
	cr_assert(not(failed), "call %u is not held", number);
}

void distant_pass_apply(struct distant *d, unsigned number)
{
	choose(d, &d->passing, number);
}

void distant_time_out_apply(struct distant *d, unsigned number)
{
	choose(d, &d->timing_out, number);
}

void distant_await_over(struct distant *d)
{
	distant_refuse(d, ERR_OK);
}

void distant_refuse(struct distant *d, enum err kind)
{
	struct timespec end = soon(TEST_WAIT_S * 1000);
	int failed = 0;

	pthread_mutex_lock(&d->lock);
	while (d->at_work && !failed)
		failed = pthread_cond_timedwait(&d->changed, &d->lock, &end);
	d->refusal = kind;
	pthread_mutex_unlock(&d->lock);
	cr_assert(not(failed), "a call does not end");
}

static void await(struct distant *d, const unsigned *arrived, unsigned count)
{
	struct timespec end = soon(TEST_WAIT_S * 1000);
	int failed = 0;

	pthread_mutex_lock(&d->lock);
	while (*arrived < count && !failed)
		failed = pthread_cond_timedwait(&d->changed, &d->lock, &end);
	pthread_mutex_unlock(&d->lock);
	cr_assert(not(failed), "call %u did not come", count);
}

void distant_await_applies(struct distant *d, unsigned count)
{
	await(d, &d->applies, count);
}

void distant_await_lists(struct distant *d, unsigned count)
{
	await(d, &d->lists, count);
}

void distant_await_fetches(struct distant *d, unsigned count)
{
	await(d, &d->fetches, count);
}

void distant_await_items(struct distant *d, unsigned count)
{
	await(d, &d->items, count);
}

uint64_t distant_answers(struct distant *d)
{
	struct writeback *p = d->cache->writeback;

	pthread_mutex_lock(&p->lock);
	uint64_t answers = p->answers;

	pthread_mutex_unlock(&p->lock);
	return answers;
}

void distant_await_answers(struct distant *d, uint64_t count)
{
	int64_t end_ms = monotonic_ms() + (int64_t)TEST_WAIT_S * 1000;

	while (distant_answers(d) < count) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "no answer came");
		usleep(1000);
	}
}

static unsigned get(struct distant *d, const unsigned *what)
{
	pthread_mutex_lock(&d->lock);
	unsigned value = *what;

	pthread_mutex_unlock(&d->lock);
	return value;
}

unsigned distant_applies(struct distant *d)
{
	return get(d, &d->applies);
}

size_t distant_apply_bytes(struct distant *d)
{
	pthread_mutex_lock(&d->lock);
	size_t bytes = d->apply_bytes;

	pthread_mutex_unlock(&d->lock);
	return bytes;
}

unsigned distant_fetches(struct distant *d)
{
	return get(d, &d->fetches);
}

unsigned distant_lists(struct distant *d)
{
	return get(d, &d->lists);
}

unsigned distant_items(struct distant *d)
{
	return get(d, &d->items);
}

unsigned distant_page_reports(struct distant *d)
{
	return get(d, &d->page_reports);
}

void distant_step(struct distant *d)
{
	pthread_mutex_lock(&d->lock);
	d->steps++;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

/* ---- Files ---- */

struct inode *distant_make(struct distant *d, const char *name)
{
	struct create_args making = { .op = CHANGE_CREATE, .mode = 0644 };
	struct cache_entry entry;
	struct error e = { 0 };

	cr_assert(
		eq(int, cache_make(d->cache, NULL, cache_root(d->cache), name, &making, &entry, &e),
			ERR_OK),
		"%s", e.text);
	cr_assert(
		eq(int, cache_open_made(d->cache, NULL, &entry, O_RDWR, &e), ERR_OK), "%s", e.text);
	return entry.inode;
}

struct inode *distant_open(struct distant *d, const char *name)
{
	struct cache_entry entry;
	struct error e = { 0 };
	int64_t absent_ms;
	bool keep;

	cr_assert(eq(int,
			  cache_lookup(d->cache, NULL, cache_root(d->cache), name, &entry,
				  &absent_ms, &e),
			  ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, cache_open(d->cache, NULL, entry.inode, O_RDWR, &keep, &e), ERR_OK), "%s",
		e.text);
	return entry.inode;
}

struct inode *distant_open_known(struct distant *d, const char *name)
{
	struct inode *i = distant_open(d, name);
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int, cache_attr(d->cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return i;
}

void distant_close(struct distant *d, struct inode *i)
{
	cache_close(d->cache, i);
	cache_forget(d->cache, i, 1);
}

void distant_write(struct distant *d, struct inode *i, uint64_t offset, const char *text)
{
	struct error e = { 0 };

	cr_assert(
		eq(int, cache_write(d->cache, NULL, i, offset, text, strlen(text), 0, &e), ERR_OK),
		"%s", e.text);
}

char *distant_text(struct distant *d, const char *name)
{
	return scratch_read(&d->scratch, name, NULL);
}

void distant_expect_text(struct distant *d, const char *name, const char *wanted)
{
	AUTO_FREE char *text = distant_text(d, name);

	cr_expect(eq(str, text, (char *)wanted), "%s: %s", name, text);
}

uint64_t distant_failed(struct distant *d)
{
	struct cache_status status;

	cache_get_status(d->cache, &status);
	return status.failed_changes;
}

uint64_t distant_size(struct distant *d, struct inode *i)
{
	struct error e = { 0 };
	struct attr attr;
	int64_t valid_ms;

	cr_assert(
		eq(int, cache_attr(d->cache, NULL, i, &attr, &valid_ms, &e), ERR_OK), "%s", e.text);
	return attr.size;
}

long distant_peak_kb(void)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmHWM: %ld", &kb);
	if (f)
		fclose(f);
	return IS_SANITIZED ? 0 : kb;
}
