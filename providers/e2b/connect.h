/*
 * connect.h - the Connect protocol (connectrpc.com) as a client: unary calls and server streams,
 * messages in the binary protobuf codec.
 *
 * The header Connect-Timeout-Ms is never sent: envd takes it for the process's own deadline. The
 * status of a stream is always 200. Its last envelope has the result, and a stream without one was
 * cut off (ERR_UNREACHABLE). Errors: those of verdict.h and http.h, ERR_PROTOCOL. Functions may be
 * called from any thread, those of one stream from one thread at a time.
 */
#pragma once

#include "providers/http/http.h"

struct connect_request {
	const char *url;  /* the procedure's URL */
	const char *what; /* for errors: "running a command" */
	/* The headers besides the protocol's own; at most CONNECT_HEADERS_MAX. */
	const struct http_header *headers;
	size_t headers_count;
	const void *message; /* copied */
	size_t len;
	unsigned flags;        /* enum http_flags */
	bool wants_compressed; /* the answers are worth compressing */
	bool is_plain;         /* neither the request nor the answers are compressed */
	/* The longest silence in a stream, before the daemon sends a message; 0: its own 90. */
	int64_t keepalive_s;
};

#define CONNECT_HEADERS_MAX 8

/* ---- Server streams ---- */

struct connect_stream;

/* On ERR_OK connect_end() must follow. The request's strings must outlive the stream. */
enum err connect_begin(struct http *h, const struct connect_request *request,
	struct connect_stream **out, struct error *e);

/* The message is valid during the call. A result that is not ERR_OK ends the stream with it. */
typedef enum err (*connect_sink)(void *context, const void *message, size_t len, struct error *e);

/*
 * Waits for the next piece of the answer and hands on the messages that the piece completes,
 * perhaps none. *is_over: the stream ended, and ended well.
 */
enum err connect_read(struct connect_stream *s, const struct call *call, connect_sink sink,
	void *context, bool *is_over, struct error *e);

/* Becomes readable when connect_read() has something to do. */
int connect_fd(const struct connect_stream *s);

/* Whether an answer with status 200 began: from then on http.h does not repeat the request. */
bool connect_has_begun(const struct connect_stream *s);

/* Whether the server may have acted on the request: false only when it certainly did not. */
bool connect_may_have_run(const struct connect_stream *s);

/* Ends the stream, finished or not, and frees it. */
void connect_end(struct connect_stream *s);

/* ---- Unary calls ---- */

/* `answer` is replaced by the message. */
enum err connect_call(struct http *h, const struct call *call,
	const struct connect_request *request, struct buf *answer, struct error *e);
