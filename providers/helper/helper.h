/*
 * helper.h - the verbs with system calls on a real directory.
 *
 * The one implementation of list, fetch, apply and watch that everything else is measured by: `local:` calls it in its
 * own process, the helper program serves it over a stream. It needs libc and xxhash.h only. Any number of threads may
 * call it on one root at once. Each verb answers per item; its own result tells only whether the batch could be done.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"
#include "providers/verbs.h"

enum err helper_list(const struct root *r, const struct list_request *request, list_sink sink,
	void *context, struct error *e);

enum err helper_fetch(const struct root *r, const struct fetch_item *items, size_t items_count,
	fetch_sink sink, void *context, struct error *e);

/*
 * Fills one result for each change. Does not stop at a failed one. A batch with a journal may be sent again, whatever
 * became of its first run: what the record in staging (helper/sequence.h) says is over is not done again, and its result
 * is the same refusal, or ERR_OK with the present attributes; a change in whose midst the first run was killed is done
 * once all the same. While another run of the journal is at work it waits, and fails with ERR_TIMEOUT after `call`'s limit
 * on progress. The first batch of a journal also removes from staging what dead mounts left (helper/staging.h).
 */
enum err helper_apply(const struct root *r, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);

/*
 * Watches the tree below the root with inotify until `call` is cancelled (ERR_INTERRUPTED), the sink stops it, what
 * `request` asks to be listed is refused, or another watch of the same watcher begins (ERR_CONFLICT, helper/watcher_file.h).
 * New subdirectories are covered: what was made in one before its watch stood is reported as created.
 */
enum err helper_watch(const struct root *r, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
