/*
 * cache.h - what we know of the sandbox and what we owe it.
 *
 * The only caller of a provider. Every read of metadata goes through one tree of inodes and names (cache/tree/tree.h), every
 * change through one place (cache/write/remote.h), and every verb to the provider takes a batch.
 *
 * Three rules for locks: none is held across a provider call; they nest only downwards in the layer order; every wait has
 * a deadline, and an interrupted request gives up. All functions may be called from any thread. Inode pointers handed out
 * are references that the caller puts back with cache_forget().
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
 * What the cache asks of a sandbox first, under these options: a provider may begin with it when it connects
 * (provider_config.opening). `first` NULL: nothing is known beforehand.
 */
struct watch_request cache_opening(const struct cache_options *options);

enum err cache_new(struct cache **out, struct provider *p, const struct cache_options *options,
	const struct call *call, struct error *e);
void cache_free(struct cache *c);

const struct sandbox_info *cache_sandbox(const struct cache *c);
const struct provider_ops *cache_provider(const struct cache *c);
/* A request came: the sandbox is in use (lifetime.h). */
void cache_used(struct cache *c);
/* It is in use until cache_let(): somebody has a file open for writing. */
void cache_hold(struct cache *c);
void cache_let(struct cache *c);

/* Until cache_unlisten() somebody wants to hear of every change: the stream of them is not let go. */
void cache_listen(struct cache *c);
void cache_unlisten(struct cache *c);

/*
 * Runs a command in the sandbox: sends everything pending first (on failure the command does not run and
 * result->may_have_run is false), and afterwards doubts everything known, since the command may have changed it.
 */
enum err cache_execute(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * Runs a command of our own, which changes nothing that the mount shows: neither is anything sent before nor doubted after.
 */
enum err cache_execute_own(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
/* Whether the mount before, which had the same journal, was killed. */
bool cache_follows_killed(const struct cache *c);

/* Where a port of the sandbox is reached from elsewhere, as provider_url() says. */
enum err cache_port_url(
	struct cache *c, const struct call *call, unsigned port, struct buf *out, struct error *e);

/* Returns when the sandbox has every change made so far, or with the first error. */
enum err cache_sync(struct cache *c, const struct call *call, struct error *e);

void cache_get_status(struct cache *c, struct cache_status *out);

/* What it counts, for `.sandbox/stats`; its callers may count in it. It lives as long as the cache. */
struct stats *cache_stats(struct cache *c);
