/*
 * http.h - requests over HTTP/1.1 and HTTP/2 with libcurl.
 *
 * A client has one thread, which owns the multi handle and every connection: kept alive, reused, multiplexed where the
 * server speaks HTTP/2. It copies bytes and does nothing else, so it never waits for a caller. Callers work in their own
 * thread: begin, read until the end, end. An answer whose reader is slow is paused, so what one exchange holds is bounded
 * (HTTP_WINDOW); so is what an unread one holds.
 *
 * An answer is decoded when it comes compressed, which is not asked for.
 *
 * Always: TLS certificates are verified (a CA file or folder by SSL_CERT_FILE, SSL_CERT_DIR or CURL_CA_BUNDLE), plain
 * http goes only to this machine (ERR_INVALID else), proxies are those of http_proxy, https_proxy, all_proxy and
 * no_proxy, no Expect: 100-continue, a small request leaves in one write, no secret in a log or an error.
 *
 * Deadlines are those of base/call.h: on progress, which is bytes in either direction, the time until a connection stands
 * and the time until the first answer included. Functions may be called from any thread, those of one exchange from one
 * at a time. Errors: ERR_INVALID (the URL), ERR_UNREACHABLE (no connection, cut short), ERR_AUTH (the certificate does
 * not hold), ERR_TIMEOUT, ERR_INTERRUPTED, ERR_PROTOCOL (not HTTP), ERR_NO_MEMORY. A status is no error here.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/base/foreign.h"

struct http;

enum err http_new(struct http **out, const char *user_agent, struct error *e);
/* No exchange may be left. Connections are closed. */
void http_free(struct http *h);

/*
 * No later request uses a connection that exists now: after a suspend, or when a sandbox was resumed. Idle ones are closed
 * once what still runs beside them has ended, at once where nothing does; connections of their own do not count.
 */
void http_drop_connections(struct http *h);

/* What came that was not the service's. Valid as long as the client. */
struct foreign_answers *http_foreign(struct http *h);

/*
 * A connection to where `url` leads is begun, so that the next request there that needs a new one has it: it saves a round
 * trip. A hint: where there is none in the end, or nobody wants it within 15 s, nothing is told. No byte is sent.
 */
void http_preconnect(struct http *h, const char *url);

/* ---- A request ---- */

enum http_method { HTTP_GET, HTTP_POST, HTTP_PATCH, HTTP_DELETE };

struct http_header {
	const char *name, *value;
	bool is_secret; /* never logged; goes to the first URL's origin alone */
};

/*
 * Fills `dst` with exactly `len` bytes of the body from `offset`, in order; from 0 again when the request is sent again.
 * Called in the thread that reads the answer, which passes its error on.
 */
typedef enum err (*http_source)(
	void *context, uint64_t offset, void *dst, size_t len, struct error *e);

enum http_flags {
	/*
	 * The server may do it twice: sent again, with growing pauses and jitter, when the connection broke before a byte of
	 * the answer's body was read, and on 429, 500, 502, 503 and 504. Without it only what certainly was not done is sent
	 * again: no connection came about, 429, or a GOAWAY of HTTP/2 says so of its stream.
	 * Retry-After and retry-after-ms are obeyed. Never beyond the call's deadline.
	 */
	HTTP_REPEATABLE = 1,
	/* 502 is an answer, not a fault: no repetition. */
	HTTP_BAD_GATEWAY_IS_FINAL = 2,
	/* The same of 500: what the server could not do now it cannot do a moment later. */
	HTTP_INTERNAL_ERROR_IS_FINAL = 16,
	/*
	 * 409 is said of a state that passes, before anything is done: sent again like 429, and for as long as the call's
	 * deadline allows.
	 */
	HTTP_CONFLICT_PASSES = 64,
	/*
	 * The header x-should-retry of an answer counts more than its status: after `false` nothing is sent again, and `true`
	 * has what is HTTP_REPEATABLE sent again after any status from 400 but 408, with which a server ends what it held.
	 */
	HTTP_SHOULD_RETRY = 128,
	/*
	 * 409 is said of a lock that was not to be had in time, before anything is done: sent again
	 * five times, after 1, 2, 4, 8 and 16 s where the server asks for nothing else.
	 */
	HTTP_LOCK_PASSES = 1024,
	/* The same of 408 and of what is HTTP_REPEATABLE: it was not done in time. */
	HTTP_LATENESS_PASSES = 2048,
	/* A connection of its own, closed afterwards: for streams that live as long as the mount. */
	HTTP_OWN_CONNECTION = 4,
	/*
	 * A redirection is followed, GET and HEAD only, at most 5 times, secrets kept from other origins. Without it a 3xx is
	 * an answer like another, but 307 and 308 to the same origin of what is HTTP_REPEATABLE, which are followed.
	 */
	HTTP_FOLLOW = 8,
	/*
	 * For gRPC: over anything else than HTTP/2 the answer is ERR_PROTOCOL. That is agreed upon by TLS (ALPN), so plain
	 * http never has it.
	 */
	HTTP_REQUIRE_2 = 32,
	/*
	 * The answer is large: over TLS the exchange has a connection for itself (HTTP/1.1), or with
	 * HTTP_REQUIRE_2 one of large exchanges alone. So has every request with a body from
	 * HTTP_BULK_MIN bytes on. What somebody waits for then never stands behind it, and neither
	 * the window of HTTP/2 nor libcurl's polling, which spins while that is full, bounds it.
	 */
	HTTP_BULK = 256,
	/*
	 * The server begins its answer at once, whatever it is asked, and GET / of its origin changes
	 * nothing there: silence means a dead connection (silence.h). Never of what is answered once
	 * it is done and may take long.
	 */
	HTTP_ANSWERS_AT_ONCE = 512,
};

/* The initial window of HTTP/2 (RFC 9113): so much leaves without an answer in any case. */
#define HTTP_BULK_MIN ((uint64_t)64 * 1024)

/* An answer, for the question whose it is. */
struct http_said {
	int status;
	const char *type; /* the header Content-Type; "": none */
	const void *body;
	size_t len;
	bool is_whole; /* false of a good answer whose body is still to come */
	bool is_told;  /* the request was one for what is told (GET), not for what is done */
};

/*
 * The form that a service gives its answers. An answer of another form is a proxy's, a gateway's or a
 * login page's: it fails with ERR_UNREACHABLE and is repeated like a connection that broke.
 */
struct http_frame {
	/* Of good answers (2xx), which are not read in any other type; several: blanks between. NULL: any but HTML. */
	const char *types;
	/* Whether the answer is the service's own; `f` is the frame. */
	bool (*is_own)(const struct http_frame *f, const struct http_said *said);
	const char
		*hint; /* for people, behind the quoted answer: "is E2B_API_URL right?"; or NULL */
};

/* What it points to must outlive the exchange, except `headers`, `url` and `address`, which are copied. */
struct http_request {
	enum http_method method;
	unsigned flags; /* enum http_flags */
	const char *url;
	/* Connects there, to the URL's port, while its host stays who is meant and whose certificate counts; NULL: to that. */
	const char *address;
	const struct http_header *headers;
	size_t headers_count;
	const void *body; /* or NULL: from `source`, else none */
	uint64_t body_len;
	http_source source;
	void *source_context;
	const struct http_frame *frame; /* NULL: every answer is the service's */
};

/* ---- An exchange ---- */

/* At most so much of an answer waits for its reader, in bytes. */
#define HTTP_WINDOW (1024 * 1024)

struct http_exchange;

/* Starts it. On ERR_OK http_end() must follow. */
enum err http_begin(struct http *h, const struct http_request *request, struct http_exchange **out,
	struct error *e);

/*
 * Waits for the next piece of the answer's body; *len 0: its end, the whole answer was good. The bytes are valid until the
 * next call. Repetitions happen in here. After an error http_header() says what had come, and http_end() must follow.
 */
enum err http_read(struct http_exchange *x, const struct call *call, const void **bytes,
	size_t *len, struct error *e);

/* Becomes readable when http_read() has something to say; for poll(2) over several exchanges without `source`. */
int http_fd(const struct http_exchange *x);

/* When it last made progress, in milliseconds of the monotonic clock; 0: it has made none. For whoever polls. */
int64_t http_moved_ms(const struct http_exchange *x);
/* The time and the bytes that have left become the caller's progress; http_read() sees to it, some times a second. */
void http_note_progress(struct http_exchange *x, const struct call *call);

/*
 * Of the answer; known once http_read() returned ERR_OK, also with *len 0. Header names in any case; NULL: not there. Those
 * that come behind the body (trailers) are there after the body's end, where no header has their name. After an error of
 * http_read() they are there when the answer ended by itself: a server may say how it went and then break off.
 */
int http_status(const struct http_exchange *x);
const char *http_header(const struct http_exchange *x, const char *name);

/* The header Date, in seconds since 1970; 0: there is none that makes sense. */
int64_t http_date_s(const struct http_exchange *x);

/*
 * Puts stars where `bytes` of the answer say a secret header of the request back: before they are told to anybody as the
 * reason of a failure. All of the answer at once, or half a secret stays.
 */
void http_blot_secrets(const struct http_exchange *x, void *bytes, size_t len);

/*
 * Whether the server may have got the request: false only when the server certainly did not act on it, and will not. An
 * exchange that still runs and was not sent yet is given up for that: only http_end() may follow.
 */
bool http_may_have_arrived(struct http_exchange *x);

/* Where its client notes what is not the service's. */
struct foreign_answers *http_foreign_of(const struct http_exchange *x);

/* Gives up what is not finished: an HTTP/1.1 connection is closed, an HTTP/2 stream reset. */
void http_end(struct http_exchange *x);

/* ---- Small exchanges whole ---- */

#define HTTP_BODY_MAX (16 * 1024 * 1024)

struct http_answer {
	int status;
	struct buf body; /* at most HTTP_BODY_MAX; with a status from 300 it says no secret back */
	char next_token[512]; /* the header X-Next-Token, "" when absent */
	char content_type[128];
	int64_t date_s;        /* http_date_s() */
	bool may_have_arrived; /* also set on failure */
	bool is_final;         /* the header X-Should-Retry says false */
};

#define HTTP_ANSWER_NONE                                                                           \
	{                                                                                          \
		.body = BUF_INIT(HTTP_BODY_MAX)                                                    \
	}
#define AUTO_HTTP_ANSWER __attribute__((cleanup(http_answer_release)))
void http_answer_release(struct http_answer *a);

/* With a frame, a good answer whose whole body is not the service's is asked for again, too. */
enum err http_perform(struct http *h, const struct call *call, const struct http_request *request,
	struct http_answer *out, struct error *e);

/* The rest of http_perform() once it has begun: reads the answer whole. http_end() is still the caller's. */
enum err http_read_answer(
	struct http_exchange *x, const struct call *call, struct http_answer *out, struct error *e);

/* ---- URLs ---- */

/* ERR_INVALID unless it is https, or http to this machine (127.0.0.0/8, 0.0.0.0, ::1, localhost and
 * names below), and holds no password. */
enum err http_check_url(const char *url, struct error *e);
/*
 * Whether an answer of the service at `by` may send us to `told`, key and all. ERR_PROTOCOL: the URL is none that
 * http_check_url() passes, has less TLS than `by`, a query or a fragment, or its host is nearer to this machine than that
 * of `by`: this machine itself, the link, a private network. Every address that an answer names passes here first.
 */
enum err http_check_told_url(const char *told, const char *by, struct error *e);
/*
 * Lets this client go to the host of `url` by http, any port of it. For an address that the user
 * gave; before requests. ERR_NO_MEMORY.
 */
enum err http_allow_plain(struct http *h, const char *url, struct error *e);
/* http_check_url(), but for what http_allow_plain() allows. `h` may be NULL. */
enum err http_check_reach(const struct http *h, const char *url, struct error *e);
/* Whether the host is of a private network, by its address or by a name that no public one has. */
bool http_is_private(const char *url);
/* Scheme, host and port are the same. */
bool http_same_origin(const char *one, const char *other);
/* Percent-encodes everything but letters, digits and -._~ ; `keep`: characters that also stay ("/"). */
bool http_escape(struct buf *out, const char *text, const char *keep);
