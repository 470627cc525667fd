/*
 * transport.h - how one request gets to a helper and its answer back; internal to providers/client.
 *
 * Three ways: a stream to a helper that serves, such a stream that exists while it is used, and a
 * helper that is started anew for each request. Any number of threads may ask at once.
 */
#pragma once

#include "providers/client/answers.h"
#include "providers/client/client.h"

struct helper_transport {
	/*
	 * Sends the request, passes the answer to the listener, and returns the result. Takes the
	 * payload, which must be whole. ERR_UNSUPPORTED: this transport cannot carry such a
	 * request.
	 */
	enum err (*ask)(struct helper_transport *t, const struct call *call, enum frame_type type,
		struct buf *payload, const struct listener *listener, struct error *e);
	/* Whether every later request would fail. NULL: never. */
	bool (*is_broken)(const struct helper_transport *t);
	/* When the helper last sent a byte, on the monotonic clock. NULL: not known. */
	int64_t (*received_ms)(const struct helper_transport *t);
	void (*free)(struct helper_transport *t);
};

/* Whether a helper is there and of our version; an error is ERR_PROTOCOL, as of check_hello(). */
enum err helper_say_hello(
	struct helper_transport *t, const struct call *call, struct hello *out, struct error *e);

/* Takes both descriptors, also on failure. `costs_requests`: as in struct helper_keeper. */
enum err helper_stream_new(struct helper_transport **out, int to_fd, int from_fd,
	bool costs_requests, struct error *e);
enum err helper_runs_new(
	struct helper_transport **out, const struct helper_runner *runner, struct error *e);
enum err helper_kept_new(
	struct helper_transport **out, const struct helper_keeper *keeper, struct error *e);
