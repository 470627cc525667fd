/*
 * helper.h - the verbs with system calls on a real directory.
 *
 * The reference implementation of list, fetch, apply and watch: `local:` calls it in its own
 * process, the helper program serves it over a stream. The code needs libc and xxhash.h only. Any
 * number of threads may call it on one root at once. Each verb answers per item; the verb's own
 * result says only whether the batch could be carried out.
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
 * Fills one result for each change and goes on after a failed one. A batch with a journal may be
 * sent again, whatever happened to its first run. A change that is over by the record in staging
 * (helper/sequence.h) is not made again: its result is the same refusal, or ERR_OK with the present
 * attributes. A change during which the first run was killed is still made exactly once. While
 * another run of the journal is at work the call waits, and fails with ERR_TIMEOUT after `call`'s
 * limit on progress. The first batch of a journal also removes what dead mounts left in staging
 * (helper/staging.h).
 */
enum err helper_apply(const struct root *r, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);

/*
 * Watches the tree below the root with inotify until one of these:
 * - `call` is cancelled (ERR_INTERRUPTED);
 * - the sink stops the watch;
 * - the list that `request` asks for is refused;
 * - another watch of the same watcher begins (ERR_CONFLICT, helper/watcher_file.h).
 *
 * New subdirectories are covered: entries made there before the watch stood are reported as
 * created.
 */
enum err helper_watch(const struct root *r, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
