/*
 * opening.h - a stream of changes that begins with the attach; internal to remote*.c.
 *
 * The run that finds the directory to show and says the helper's hello goes on as the stream that whoever connects is
 * going to ask for: so a mount learns its tree, and hears of changes, with the one request that it attaches by. A thread
 * holds the run. It keeps what follows the hello waiting until remote_opening_take() comes for it, and ends the run when
 * nobody has within REMOTE_OPENING_MS. Taken once; any thread.
 */
#pragma once

#include "providers/remote/script.h"

/* From an attach to the first question, with a mount(2) in between. */
#define REMOTE_OPENING_MS 10000

struct remote_opening;

/* `request` is what is going to be asked for; all of it is copied. */
enum err remote_opening_new(
	struct remote_opening **out, const struct watch_request *request, struct error *e);
/* Ends the run, if there is one, and waits for it. NULL is allowed. */
void remote_opening_free(struct remote_opening *o);

/* remote_script_run(), which returns when the helper has said hello; the run may go on. `ops` must outlive it. */
enum err remote_opening_run(struct remote_opening *o, struct remote_report *out,
	const struct remote_ops *ops, const struct remote_question *question,
	const struct call *call, struct error *e);

/*
 * Takes the stream over, if it is the one asked for and still there: *taken, and then what provider.h says of `watch`.
 * NULL: there is none.
 */
enum err remote_opening_take(struct remote_opening *o, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, bool *taken,
	struct error *e);
