/*
 * connect.h - the Connect protocol (connectrpc.com) as a client: unary calls and server streams, messages in the binary
 * protobuf codec.
 *
 * Never sent: Connect-Timeout-Ms, which envd takes for the process's own deadline. The status of a stream is 200 whatever
 * comes of it: its last envelope tells, and a stream without one was cut off (ERR_UNREACHABLE). Errors: those of
 * verdict.h and http.h, ERR_PROTOCOL. Functions may be called from any thread, those of one stream from one at a time.
 */
#pragma once

#include "providers/http/http.h"

struct connect_request {
	const char *url;  /* of the procedure */
	const char *what; /* for errors: "running a command" */
	const struct http_header
		*headers; /* besides the protocol's own; at most CONNECT_HEADERS_MAX */
	size_t headers_count;
	const void *message; /* copied */
	size_t len;
	unsigned flags;        /* enum http_flags */
	bool wants_compressed; /* the answers are worth it */
	bool is_plain;         /* they are not: then the request is not compressed either */
	int64_t keepalive_s; /* of a stream: after so long a silence the daemon says something; 0: its own 90 */
};

#define CONNECT_HEADERS_MAX 8

/* ---- Server streams ---- */

struct connect_stream;

/* On ERR_OK connect_end() must follow. The request's strings must outlive the stream. */
enum err connect_begin(struct http *h, const struct connect_request *request,
	struct connect_stream **out, struct error *e);

/* Valid during the call. Anything but ERR_OK ends the stream with that. */
typedef enum err (*connect_sink)(void *context, const void *message, size_t len, struct error *e);

/*
 * Waits for the next piece of the answer and hands on the messages that it completes, perhaps none. *is_over: that was
 * all, and it ended well.
 */
enum err connect_read(struct connect_stream *s, const struct call *call, connect_sink sink,
	void *context, bool *is_over, struct error *e);

/* Becomes readable when connect_read() has something to do. */
int connect_fd(const struct connect_stream *s);

/* Whether an answer with status 200 began, so that http.h no longer repeats the request by itself. */
bool connect_has_begun(const struct connect_stream *s);

/* Whether the server may have acted on it: false only when it certainly did not. */
bool connect_may_have_run(const struct connect_stream *s);

/* Gives up what is not finished. */
void connect_end(struct connect_stream *s);

/* ---- Unary calls ---- */

/* `answer`: the message; replaced. */
enum err connect_call(struct http *h, const struct call *call,
	const struct connect_request *request, struct buf *answer, struct error *e);
