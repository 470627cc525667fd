/*
 * grpc.h - calls of gRPC over HTTP/2.
 *
 * Messages on the wire are as grpc_frames.h says. The trailers grpc-status and grpc-message say how
 * a call ended, or the headers where nothing else comes. Where they say so, the transport's result
 * does not count. Functions may be called from any thread; those of one stream from one thread at a
 * time.
 */
#pragma once

#include "providers/http/http.h"

#include <protobuf-c/protobuf-c.h>

struct warnings;

enum grpc_status {
	GRPC_OK,
	GRPC_CANCELLED,
	GRPC_UNKNOWN,
	GRPC_INVALID_ARGUMENT,
	GRPC_DEADLINE_EXCEEDED,
	GRPC_NOT_FOUND,
	GRPC_ALREADY_EXISTS,
	GRPC_PERMISSION_DENIED,
	GRPC_RESOURCE_EXHAUSTED,
	GRPC_FAILED_PRECONDITION,
	GRPC_ABORTED,
	GRPC_OUT_OF_RANGE,
	GRPC_UNIMPLEMENTED,
	GRPC_INTERNAL,
	GRPC_UNAVAILABLE,
	GRPC_DATA_LOSS,
	GRPC_UNAUTHENTICATED,
	GRPC_LOCAL, /* not the server's: the call was given up here, or its answer makes no sense */
};

#define GRPC_HEADERS_MAX 12

/* All pointers must stay valid until the call has ended. */
struct grpc_request {
	const char *base_url;
	const char *address; /* NULL, or as http.h says */
	const char *method;  /* "package.Service/Method" */
	const struct http_header *headers;
	size_t headers_count; /* at most GRPC_HEADERS_MAX */
	const ProtobufCMessage *message;
	/* the server gives up after this time (grpc-timeout); 0: no limit is sent */
	int64_t timeout_ms;
	struct warnings *warnings; /* where those of the server go; NULL: nowhere */
	const char *what;          /* for people: "creating a sandbox" */
};

/* How a call ended. */
struct grpc_outcome {
	enum grpc_status status;
	int64_t date_s;         /* http_date_s() */
	int64_t retry_after_ms; /* the server's wish, Modal's RPCRetryPolicy; negative: none */
	bool may_have_arrived;
};

/* Whether a repetition may succeed: the statuses after which Modal's own clients try again. */
bool grpc_is_passing(enum grpc_status status);

/* ---- A call with one answer ---- */

/*
 * One attempt, without repetition. A call without a deadline gets the usual one, added to the
 * request's own time: a program may be silent for any time, but a server that was asked may not.
 * *answer must be freed with protobuf_c_message_free_unpacked().
 */
enum err grpc_call(struct http *h, const struct call *call, const struct grpc_request *request,
	const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer, struct grpc_outcome *out,
	struct error *e);

/* ---- A call with many ---- */

struct grpc_stream;

/* On ERR_OK grpc_end() must follow. */
enum err grpc_begin(struct http *h, const struct grpc_request *request, struct grpc_stream **out,
	struct error *e);
/*
 * The next answer, valid until the next call; *bytes NULL: the call ended well. After an error, and
 * after the end, `out` is filled in.
 */
enum err grpc_next(struct grpc_stream *s, const struct call *call, const unsigned char **bytes,
	size_t *len, struct grpc_outcome *out, struct error *e);
/* Whether grpc_next() will answer without waiting; else http_fd() of this becomes readable. */
bool grpc_is_ready(const struct grpc_stream *s);
int grpc_fd(const struct grpc_stream *s);
void grpc_end(struct grpc_stream *s);

/* ---- verdict.c: how a call ended ---- */

/* Undoes percent-encoding, as gRPC has it: at most `max` bytes, and a NUL. */
size_t grpc_decode(char *out, size_t max, const char *in, size_t len);

/*
 * The pause that the server asks for in grpc-status-details-bin, from a tenth of a second to a day;
 * -1: none.
 */
int64_t grpc_retry_after_ms(const char *details);

/*
 * The end of an exchange whose answer has been read as far as there is one. The transport's failure
 * counts only where the server did not say how the call ended.
 */
enum err grpc_conclude(struct http_exchange *x, const char *what, const struct error *transport,
	struct grpc_outcome *out, struct error *e);

/* ---- grpc_retry.c: making a call again ---- */

struct grpc_policy {
	unsigned retries; /* after this many the failure is returned */
	/* before the first repetition; each pause is twice as long as the one before */
	int64_t pause_ms;
	int64_t pause_max_ms;
	/* limit for all pauses that the server asks for; negative: no limit; 0: none is made */
	int64_t throttle_max_ms;
};

/* `attempt`: 0 the first time. */
typedef enum err (*grpc_attempt)(void *context, const struct call *call, unsigned attempt,
	struct grpc_outcome *out, struct error *e);

/*
 * Makes a call until it succeeds, fails for good, or the policy ends it. A repetition that the
 * server asks for does not count as a retry. A failure is no progress: after the call's time
 * without progress the last failure is returned. ERR_INTERRUPTED: the call was cancelled during a
 * pause.
 */
enum err grpc_retry(const struct grpc_policy *policy, const struct call *call, grpc_attempt attempt,
	void *context, struct grpc_outcome *out, struct error *e);
/* Whether the call's time without progress is over. */
bool grpc_is_late(const struct call *call, int64_t since_ms);
/* ERR_INTERRUPTED: the call was cancelled meanwhile. */
enum err grpc_pause(const struct call *call, int64_t ms, struct error *e);
