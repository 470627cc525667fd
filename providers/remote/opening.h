/*
 * opening.h - a stream of changes that begins with the attach; internal to providers/remote.
 *
 * The run that finds the directory to show and brings the helper's hello goes on as the stream that
 * the mount is about to ask for. So a mount learns its tree, and receives changes, with the one
 * request that attaches it. A thread holds the run. It keeps the bytes behind the hello until
 * remote_opening_take() is called, and ends the run when there is no such call within
 * REMOTE_OPENING_MS. Taken once; any thread.
 */
#pragma once

#include "providers/remote/script.h"

/* From an attach to the first question, with a mount(2) in between. */
#define REMOTE_OPENING_MS 10000

struct remote_opening;

/* `request` is the request that will be made; all of it is copied. */
enum err remote_opening_new(
	struct remote_opening **out, const struct watch_request *request, struct error *e);
/* Ends the run, if there is one, and waits for it. NULL is allowed. */
void remote_opening_free(struct remote_opening *o);

/*
 * remote_script_run(), which returns after the helper's hello; the run may go on. `ops` must
 * outlive it.
 */
enum err remote_opening_run(struct remote_opening *o, struct remote_report *out,
	const struct remote_ops *ops, const struct remote_question *question,
	const struct call *call, struct error *e);

/*
 * Takes the stream over, if it is still there and of the same request: *taken; then as `watch` of
 * provider.h. `o` NULL: there is no stream.
 */
enum err remote_opening_take(struct remote_opening *o, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, bool *taken,
	struct error *e);
