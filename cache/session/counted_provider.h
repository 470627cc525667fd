/*
 * counted_provider.h - a provider whose calls are counted and timed.
 *
 * The cache calls its provider through this, with one function for each of providers/provider.h that it uses and the same
 * meaning. What is counted as sent and received are the bytes that the call is about (contents, commands, output), as they
 * are before any coding for the wire. A stream of changes is no such call: it lasts as long as the mount is used.
 */
#pragma once

#include "cache/session/bandwidth.h"
#include "cache/session/stats.h"

#include "providers/provider.h"

struct lease; /* cache/lease/lease.h */

struct counted_provider {
	struct provider *provider;
	struct stats *stats;                  /* NULL: nothing is counted */
	struct bandwidth *bandwidth;          /* what fetches show of it; NULL: is not measured */
	void (*link_failed)(struct lease *l); /* nobody answered; NULL: not reported */
	struct lease *lease;                  /* what that is called with */
	_Atomic int64_t
		*unanswered_ms; /* when an apply last failed, monotonic; NULL: is not kept */
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
