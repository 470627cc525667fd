/*
 * cache.h - what is known of the sandbox, and the changes that are pending.
 *
 * The cache is the only caller of a provider. Every read of metadata goes through one tree of
 * inodes and names (cache/tree/tree.h), every change through one place (cache/write/remote.h), and
 * every verb to the provider takes a batch.
 *
 * Three rules for locks: no lock is held across a provider call; locks nest only downwards in the
 * layer order; every wait has a deadline, and an interrupted request gives up. All functions may be
 * called from any thread. Inode pointers handed out are references that the caller puts back with
 * cache_forget().
 */
#pragma once

#include "cache/lease/invalidate.h"
#include "cache/session/observer.h"
#include "cache/session/options.h"
#include "cache/session/status.h"
#include "cache/write/word.h"

#include "providers/provider.h"

struct cache;
struct inode; /* cache/tree/tree.h */
struct stats; /* cache/session/stats.h */

/*
 * The first request that the cache makes to a sandbox, under these options. A provider may begin
 * with it when it connects (provider_config.opening). `first` NULL: nothing is known beforehand.
 */
struct watch_request cache_opening(const struct cache_options *options);

enum err cache_new(struct cache **out, struct provider *p, const struct cache_options *options,
	const struct call *call, struct error *e);
void cache_free(struct cache *c);

const struct sandbox_info *cache_sandbox(const struct cache *c);
/* cache_sandbox() with the warning that the vendor reported since. Makes no request. */
void cache_describe_sandbox(const struct cache *c, struct sandbox_info *out);
const struct provider_ops *cache_provider(const struct cache *c);
/* A request came: the sandbox is in use (lifetime.h). */
void cache_used(struct cache *c);
/* The sandbox is in use until cache_let(): a file is open for writing. */
void cache_hold(struct cache *c);
void cache_let(struct cache *c);

/* Until cache_unlisten() every change is to be reported: the stream of changes stays. */
void cache_listen(struct cache *c);
void cache_unlisten(struct cache *c);

/*
 * Runs a command in the sandbox. Everything pending is sent first; on failure the command does not
 * run and result->may_have_run is false. Afterwards everything known is invalidated, since the
 * command may have changed it.
 */
enum err cache_execute(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * Runs a command of this program's own, which changes nothing that the mount shows: nothing is sent
 * before, and nothing is invalidated after.
 */
enum err cache_execute_own(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
/*
 * Whether an earlier mount left the journal of this one: it was killed, or ended with changes
 * pending.
 */
bool cache_follows_killed(const struct cache *c);

/* The address at which a port of the sandbox is reached from elsewhere, as provider_url() says. */
enum err cache_port_url(
	struct cache *c, const struct call *call, unsigned port, struct buf *out, struct error *e);

/* Returns when the sandbox has every change made so far, or with the first error. */
enum err cache_sync(struct cache *c, const struct call *call, struct error *e);

void cache_get_status(struct cache *c, struct cache_status *out);

/* The counters for `.sandbox/stats`; callers may count in them. They live as long as the cache. */
struct stats *cache_stats(struct cache *c);
