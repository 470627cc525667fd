#include "cache/cache.h"

#include "cache/blocks/block_store.h"
#include "cache/blocks/shown.h"
#include "cache/contents.h"
#include "cache/lease/invalidate.h"
#include "cache/lease/lease.h"
#include "cache/lease/retry.h"
#include "cache/lease/validity.h"
#include "cache/lease/walk.h"
#include "cache/metadata.h"
#include "cache/read/background_fetch.h"
#include "cache/read/block_read.h"
#include "cache/read/prefetch.h"
#include "cache/read/read_ahead.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/leftovers.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * The inodes known beyond those that the kernel uses. One with its name takes 400 bytes, and all
 * take less than 100 MB.
 */
#define CACHE_IDLE_MAX 220000

/* ---- Life ---- */

static enum err take_root(void *context, const struct list_item *item, struct error *e)
{
	struct root_facts *root = context;

	if (item->kind == LIST_SELF && item->err)
		return error_set(e, item->err, "the directory to show: %s", error_words(item->err));
	if (item->kind == LIST_SELF)
		root->attr = item->attr;
	if (item->kind == LIST_END) {
		root->space = item->space;
		root->now = item->now;
	}
	return ERR_OK;
}

static enum err ask_root(
	struct cache *c, const struct call *call, struct root_facts *out, struct error *e)
{
	const char *start = "";
	struct list_request request = { .starts = &start, .starts_count = 1 };

	return counted_list(&c->counted, call, &request, take_root, out, e);
}

static enum err new_journal(unsigned char id[JOURNAL_ID_SIZE], struct error *e)
{
	if (getrandom(id, JOURNAL_ID_SIZE, 0) != JOURNAL_ID_SIZE)
		return error_errno(e, errno, "getrandom");
	return ERR_OK;
}

static bool has_unsent(void *context)
{
	struct cache *c = context;
	struct cache_status status = { 0 };

	writeback_count(c->writeback, &status);
	return status.pending_changes > 0;
}

static enum err start_lifetime(struct cache *c, struct error *e)
{
	const struct lifetime_options options = { .left_s = c->sandbox.expires_s,
		.wanted_s = c->options.lifetime_s,
		.progress_ms = cache_progress_ms(c),
		.is_pending = has_unsent,
		.context = c };

	return c->sandbox.expires_s < 0 ? ERR_OK
					: lifetime_new(&c->lifetime, &c->counted, &options, e);
}

/*
 * The pages of an open file are dropped, too: a program that has it mapped asks for no attributes.
 */
static void pass_on(void *context, const struct tree_report *report)
{
	struct cache *c = context;

	if (report->event) {
		stats_add(&c->stats, STATS_FOREIGN_EVENTS, 1);
		cache_tell_changed(
			c, report->event->kind, report->event->path, report->event->is_dir);
	} else if (report->inode && report->revoked) {
		cache_tell_revoked(c, report->inode);
	} else if (report->inode) {
		cache_tell_inode(c, report->inode, report->pages);
	} else {
		cache_tell_name(c, report->dir, report->name, report->is_gone);
	}
}

/* Where this is impossible all is shown again as the sandbox has it. */
static void start_shown(struct cache *c)
{
	const struct shown_options options = { .dir = c->options.contents_dir,
		.provider = c->provider->ops->name,
		.sandbox = c->sandbox.id,
		.root = c->sandbox.root };
	struct error why = { 0 };

	if (!options.dir)
		return;
	if (shown_new(&c->shown, &options, &why))
		log_info(LOG_CACHE, "what is shown is not remembered: %s", why.text);
	tree_remembers(c->tree, c->shown);
}

/* The root's attributes from connecting are valid like any answer: mounting asks for them next. */
static enum err new_tree(struct cache *c, const struct root_facts *root, struct error *e)
{
	const struct tree_news news = {
		.attr = root->attr, .until_ms = cache_attr_until(c), .now = root->now
	};
	bool changed;

	c->tree = tree_new(&root->attr, CACHE_IDLE_MAX);
	if (!c->tree)
		return error_set(e, ERR_NO_MEMORY, "cache");
	start_shown(c);
	tree_tells(c->tree, pass_on, c);
	return tree_learn_attr(c->tree, tree_root(c->tree), tree_seen(c->tree), &news, &changed, e);
}

static enum err start_stored(struct cache *c, struct error *e)
{
	const struct block_store_options options = { .dir = c->options.contents_dir,
		.size_max = c->options.contents_max,
		.provider = c->provider->ops->name,
		.sandbox = c->sandbox.id,
		.stats = &c->stats };

	enum err kind = block_store_new(&c->block_store, &options, e);

	return kind ? kind : block_read_new(&c->block_read, c, e);
}

/* ---- Upcalls ---- */

static enum err drain(struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	return writeback_drain(c->writeback, call, i, e);
}

static enum err drain_path(
	struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	return writeback_drain_path(c->writeback, call, i, e);
}

static enum err await_replay(struct cache *c, const struct call *call, struct error *e)
{
	return writeback_await_replay(c->writeback, call, e);
}

static enum err drain_to_audit(struct cache *c, const struct call *call, struct error *e)
{
	return writeback_drain_to_audit(c->writeback, call, e);
}

static enum err trouble(struct cache *c, struct error *e)
{
	return writeback_trouble(c->writeback, e);
}

static void drop_fetched(struct cache *c, bool all)
{
	if (all)
		read_ahead_drop_all(c->read_ahead);
	prefetch_drop_unused(c->prefetch);
}

static const struct upcalls upcalls = {
	.drain = drain,
	.drain_path = drain_path,
	.await_replay = await_replay,
	.drain_to_audit = drain_to_audit,
	.trouble = trouble,
	.drop_fetched = drop_fetched,
	.attr = cache_attr,
	.close = cache_close,
};

/* ---- Parts of a cache ---- */

static enum err start_threads(struct cache *c, const struct call *call, struct error *e)
{
	enum err kind = c->options.is_remote ? walk_new(&c->walk, c, e) : ERR_OK;

	if (!kind && c->options.is_remote)
		kind = validity_new(&c->validity, c, e);
	if (!kind && c->options.is_remote)
		kind = lease_new(&c->lease, c, e);
	c->counted.lease = c->lease;
	c->counted.link_failed = lease_link_failed;
	if (!kind && c->options.is_remote)
		kind = start_stored(c, e);
	if (!kind && c->options.is_remote)
		kind = read_ahead_new(&c->read_ahead, c, e);
	if (!kind && c->options.is_remote)
		kind = prefetch_new(&c->prefetch, c, e);
	if (!kind && c->options.is_remote)
		kind = background_fetch_new(&c->background_fetch, c, e);
	if (!kind && c->options.is_remote && !c->options.write_through)
		kind = writeback_new(&c->writeback, c, call, e);
	/* Changes that the mount before had on their way may still arrive. */
	if (!kind && writeback_took_up(c->writeback))
		c->unanswered_ms = monotonic_ms();
	return kind ? kind : start_lifetime(c, e);
}

struct watch_request cache_opening(const struct cache_options *options)
{
	struct watch_request opening = { .first = NULL };

	memcpy(opening.watcher, options->watcher, sizeof opening.watcher);
	/* Where no answer stays valid nothing is asked before it is wanted. */
	if (options->attr_ms && options->entry_ms)
		opening.first = walk_opening();
	return opening;
}

static void free_readers(struct cache *c)
{
	read_ahead_free(c->read_ahead);
	prefetch_free(c->prefetch);
	background_fetch_free(c->background_fetch);
	block_read_free(c->block_read);
}

/* After the threads that send, which keep contents in the block store. */
static void free_rest(struct cache *c)
{
	block_store_free(c->block_store);
	lease_free(c->lease);
	validity_free(c->validity);
	tree_free(c->tree);
	retries_free(c->retries);
	shown_free(c->shown);
}

static enum err take_nothing(void *context, const struct watch_event *event, struct error *e)
{
	(void)context, (void)event;
	return error_set(e, ERR_INTERRUPTED, "nobody reads this");
}

/*
 * The list that came with the attach is older than the changes of an earlier mount, which are
 * applied now: a watch that is cancelled from the start takes the stream over and ends it.
 */
static void end_opening(struct cache *c)
{
	const struct watch_request opening = cache_opening(&c->options);
	struct cancel cancel;
	const struct call call = { .progress_ms = -1, .cancel = &cancel };
	struct error e = { 0 };

	if (!opening.first || cancel_init(&cancel, &e))
		return;
	cancel_throw(&cancel);
	provider_watch(c->provider, &call, &opening, take_nothing, NULL, &e);
	cancel_release(&cancel);
}

enum err cache_new(struct cache **out, struct provider *p, const struct cache_options *options,
	const struct call *call, struct error *e)
{
	AUTO_FREE struct cache *c = calloc(1, sizeof *c);
	struct root_facts root = { 0 };
	enum err kind;

	if (!c)
		return error_set(e, ERR_NO_MEMORY, "cache");
	c->provider = p;
	c->upcalls = upcalls;
	c->counted = (struct counted_provider){ .provider = p,
		.stats = &c->stats,
		.bandwidth = &c->bandwidth,
		.unanswered_ms = &c->unanswered_ms };
	c->options = *options;
	c->options.sandbox = NULL;
	if (c->options.attr_ms < 0)
		c->options.attr_ms = 1000;
	if (c->options.entry_ms < 0)
		c->options.entry_ms = 1000;
	kind = new_journal(c->journal, e);
	if (!kind && options->sandbox)
		c->sandbox = *options->sandbox;
	else if (!kind)
		kind = counted_info(&c->counted, call, &c->sandbox, e);
	if (!kind && c->sandbox.has_facts)
		root = c->sandbox.facts;
	else if (!kind)
		kind = ask_root(c, call, &root, e);
	if (kind)
		return kind;
	c->space = root.space;
	c->clock = root.now;
	c->clock_ms = monotonic_ms();
	pthread_mutex_init(&c->lock, NULL);
	pthread_rwlock_init(&c->observing, NULL);
	pthread_rwlock_init(&c->invalidating, NULL);
	kind = retries_new(&c->retries, e);
	if (!kind)
		kind = new_tree(c, &root, e);
	if (!kind)
		kind = start_threads(c, call, e);
	if (kind) {
		walk_free(c->walk);
		free_readers(c);
		writeback_free(c->writeback);
		free_rest(c);
		return kind;
	}
	if (p->is_opened && writeback_has_replay(c->writeback))
		end_opening(c);
	else if (p->is_opened)
		walk_open(c->walk);
	writeback_opened(c->writeback);
	*out = take(c);
	return ERR_OK;
}

/*
 * Pending changes stay in the journal. The sandbox need not keep anything for the ones that were
 * sent.
 */
static void end_pending(struct cache *c)
{
	struct leftovers_journal journal = { .was_there = writeback_took_up(c->writeback) };
	const unsigned char *id = writeback_journal(c->writeback);

	if (id)
		memcpy(journal.id, id, sizeof journal.id);
	journal.is_all_sent = writeback_free(take(c->writeback));
	leftovers_remove(c, id ? &journal : NULL);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	pthread_rwlock_wrlock(&c->invalidating);
	c->is_ending = true;
	pthread_rwlock_unlock(&c->invalidating);
	/* A sender may wait for a listing. */
	writeback_stop(c->writeback);
	walk_free(c->walk);
	lease_stop(c->lease);
	lifetime_free(c->lifetime);
	free_readers(c);
	end_pending(c);
	free_rest(c);
	pthread_rwlock_destroy(&c->observing);
	pthread_rwlock_destroy(&c->invalidating);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const struct sandbox_info *cache_sandbox(const struct cache *c)
{
	return &c->sandbox;
}

void cache_describe_sandbox(const struct cache *c, struct sandbox_info *out)
{
	*out = c->sandbox;
	provider_warning(c->counted.provider, out->warning);
}

const struct provider_ops *cache_provider(const struct cache *c)
{
	return c->provider->ops;
}

struct stats *cache_stats(struct cache *c)
{
	return &c->stats;
}

void cache_used(struct cache *c)
{
	atomic_fetch_add(&c->uses, 1);
	lifetime_used(c->lifetime);
	lease_used(c->lease);
}

void cache_hold(struct cache *c)
{
	lifetime_hold(c->lifetime);
}

void cache_let(struct cache *c)
{
	lifetime_let(c->lifetime);
}

void cache_listen(struct cache *c)
{
	atomic_fetch_add(&c->listeners, 1);
	lease_listened(c->lease);
}

void cache_unlisten(struct cache *c)
{
	atomic_fetch_sub(&c->listeners, 1);
	lease_listened(c->lease);
}

/* ---- Commands, barriers ---- */

enum err cache_execute(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct call timed = call ? *call : (struct call){ 0 };
	int64_t silence_ms = timed.progress_ms;

	/* A command may be silent for hours. The sandbox's answers before it must come in time. */
	timed.progress_ms = cache_progress_ms(c);
	enum err kind = cache_sync(c, &timed, e);

	*result = (struct execute_result){ 0 };
	if (kind)
		return kind;
	if (!(cache_provider(c)->caps & PROVIDER_COMMANDS_PULSE))
		timed.progress_ms = silence_ms;
	uint64_t seen = tree_seen(c->tree);

	lifetime_hold(c->lifetime);
	kind = counted_execute(&c->counted, &timed, request, sink, context, result, e);
	lifetime_let(c->lifetime);
	if (!kind)
		cache_command_answered(c, call, seen, &result->root);
	else if (result->may_have_run)
		cache_command_ended(c);
	return kind;
}

enum err cache_execute_own(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return counted_execute(&c->counted, call, request, sink, context, result, e);
}

bool cache_follows_killed(const struct cache *c)
{
	return writeback_took_up(c->writeback);
}

enum err cache_port_url(
	struct cache *c, const struct call *call, unsigned port, struct buf *out, struct error *e)
{
	return provider_url(c->provider, call, port, out, e);
}

enum err cache_sync(struct cache *c, const struct call *call, struct error *e)
{
	if (call && call->cancel && cancel_thrown(call->cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	return writeback_drain_all(c->writeback, call, e);
}

static void tell_room(struct cache *c, struct cache_status *out)
{
	struct block_store_room room = block_store_room(c->block_store);

	out->contents_dir = room.dir;
	out->contents_bytes = room.used;
	out->contents_max = room.max;
}

void cache_get_status(struct cache *c, struct cache_status *out)
{
	*out = (struct cache_status){ .expires_s = lifetime_left_s(c->lifetime),
		.is_gone = provider_is_gone(c->counted.provider) };
	tree_counts(c->tree, &out->inodes_known, &out->names_known);
	out->stream = lease_state(c->lease, out->stream_why, sizeof out->stream_why);
	out->unwatched_dirs = tree_unwatched(c->tree);
	writeback_count(c->writeback, out);
	out->failed_count = writeback_failed(c->writeback, out->failed, CACHE_FAILED_MAX);
	out->journal_dir = writeback_place(c->writeback);
	tell_room(c, out);
	pthread_mutex_lock(&c->lock);
	out->errors_count = last_errors_get(&c->errors, monotonic_ms(), out->errors);
	pthread_mutex_unlock(&c->lock);
	foreign_read(c->counted.provider->foreign, &out->foreign);
}
