/*
 * helper_transport.h - how one request gets to a helper and its answer back; internal to helper_*.c.
 *
 * Two ways: a stream to a helper that serves, and a helper that is started anew for each request. Any number of threads may
 * ask at once.
 */
#pragma once

#include "providers/helper_answers.h"
#include "providers/helper_client.h"

struct helper_transport {
	/*
	 * Asks, lets the listener hear the answer, and gives its result. Takes the payload, of which is known that it is whole.
	 * ERR_UNSUPPORTED: this way cannot carry such a request.
	 */
	enum err (*ask)(struct helper_transport *t, const struct call *call, enum frame_type type,
		struct buf *payload, const struct listener *listener, struct error *e);
	void (*free)(struct helper_transport *t);
};

/* Takes both descriptors, also on failure. */
enum err helper_stream_new(struct helper_transport **out, int to_fd, int from_fd, struct error *e);
enum err helper_runs_new(
	struct helper_transport **out, const struct helper_runner *runner, struct error *e);
