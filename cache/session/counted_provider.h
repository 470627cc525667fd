/*
 * counted_provider.h - a provider whose calls are counted and timed.
 *
 * The cache calls its provider through this, with one function for each one of providers/provider.h
 * that it uses. The meaning is the same. Counted as sent and received are the bytes that the call
 * is about (contents, commands, output), before any coding for the wire. A stream of changes is not
 * counted: it lasts as long as the mount is used.
 */
#pragma once

#include "cache/session/bandwidth.h"
#include "cache/session/stats.h"

#include "providers/provider.h"

struct lease; /* cache/lease/lease.h */

struct counted_provider {
	struct provider *provider;
	struct stats *stats;         /* NULL: nothing is counted */
	struct bandwidth *bandwidth; /* where fetches are measured; NULL: nowhere */
	/* Called when the sandbox did not answer; NULL: not reported. */
	void (*link_failed)(struct lease *l);
	struct lease *lease;            /* the argument of link_failed */
	_Atomic int64_t *unanswered_ms; /* when an apply last failed, monotonic; NULL: not kept */
};

enum err counted_info(const struct counted_provider *m, const struct call *call,
	struct sandbox_info *out, struct error *e);
enum err counted_extend(const struct counted_provider *m, const struct call *call, int64_t seconds,
	struct error *e);
enum err counted_execute(const struct counted_provider *m, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
enum err counted_list(const struct counted_provider *m, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e);
enum err counted_fetch(const struct counted_provider *m, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e);
enum err counted_apply(const struct counted_provider *m, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);
