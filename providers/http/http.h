/*
 * http.h - requests over HTTP/1.1 and HTTP/2 with libcurl.
 *
 * A client has one thread, which owns the multi handle and every connection: kept alive, reused,
 * multiplexed where the server speaks HTTP/2. The thread only copies bytes, so it never waits for a
 * caller. Callers work in their own thread: begin, read until the end, end. An answer whose reader
 * is slow is paused, so the memory of one exchange is bounded (HTTP_WINDOW), also while it is not
 * read.
 *
 * A compressed answer is decoded, though compression is not asked for.
 *
 * These hold for every request:
 * - TLS certificates are verified (a CA file or folder by SSL_CERT_FILE, SSL_CERT_DIR or
 *   CURL_CA_BUNDLE).
 * - Plain http goes only to this machine (ERR_INVALID else).
 * - Proxies are those of http_proxy, https_proxy, all_proxy and no_proxy.
 * - There is no Expect: 100-continue, and a small request leaves in one write.
 * - No secret appears in a log or an error.
 *
 * Deadlines are those of base/call.h: on progress, which is bytes in either direction. The time
 * until a connection stands and the time until the first answer count. Functions may be called from
 * any thread, those of one exchange from one at a time.
 *
 * Errors: ERR_INVALID (the URL), ERR_UNREACHABLE (no connection, cut short), ERR_AUTH (an invalid
 * certificate), ERR_TIMEOUT, ERR_INTERRUPTED, ERR_PROTOCOL (not HTTP), ERR_NO_MEMORY. A status is
 * no error here.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/base/foreign.h"

struct http;

enum err http_new(struct http **out, const char *user_agent, struct error *e);
/* Closes the connections. No exchange may be left. */
void http_free(struct http *h);

/*
 * Makes later requests use new connections only: after a suspend, or when a sandbox was resumed.
 * Idle connections are closed after the exchanges on their pair have ended, at once where none
 * runs; connections of their own do not count.
 */
void http_drop_connections(struct http *h);

/*
 * Makes all requests go to a server at a unix socket: the host of a URL is then only a name. Before
 * requests. ERR_NO_MEMORY.
 */
enum err http_use_socket(struct http *h, const char *path, struct error *e);

/* The answers that were not the service's. Valid as long as the client. */
struct foreign_answers *http_foreign(struct http *h);

/*
 * Begins a connection to the host of `url`, so that the next request there that needs a new one has
 * it, which saves a round trip. A hint: no failure is reported, and a connection that is not used
 * within 15 s is closed. No byte is sent.
 */
void http_preconnect(struct http *h, const char *url);

/* ---- A request ---- */

enum http_method { HTTP_GET, HTTP_POST, HTTP_PATCH, HTTP_PUT, HTTP_DELETE };

struct http_header {
	const char *name, *value;
	bool is_secret; /* never logged; sent to the first URL's origin only */
};

/*
 * Fills `dst` with exactly `len` bytes of the body from `offset`, in order; from 0 again when the
 * request is sent again. Called in the thread that reads the answer, which passes its error on.
 */
typedef enum err (*http_source)(
	void *context, uint64_t offset, void *dst, size_t len, struct error *e);

enum http_flags {
	/*
	 * The server may carry out the request twice. The request is sent again, with growing
	 * pauses and jitter, when the connection broke before a byte of the answer's body was read,
	 * and on 429, 500, 502, 503 and 504. Without the flag only a request that certainly was not
	 * carried out is sent again: no connection came about, 429, or a GOAWAY of HTTP/2 for its
	 * stream. Retry-After and retry-after-ms are obeyed. Never beyond the call's deadline.
	 */
	HTTP_REPEATABLE = 1,
	/* A 502 is an answer, not a fault: no repetition. */
	HTTP_BAD_GATEWAY_IS_FINAL = 2,
	/* A 500 is an answer, too: the server would fail a moment later as well. */
	HTTP_INTERNAL_ERROR_IS_FINAL = 16,
	/*
	 * A 409 reports a passing state, before any effect: the request is sent again as after 429,
	 * for as long as the call's deadline allows.
	 */
	HTTP_CONFLICT_PASSES = 64,
	/*
	 * The header x-should-retry of an answer counts more than its status. After `false` nothing
	 * is sent again. After `true` an HTTP_REPEATABLE request is sent again for any status from
	 * 400 except 408, with which a server ends a held request.
	 */
	HTTP_SHOULD_RETRY = 128,
	/*
	 * A 409 reports a lock that was not free in time, before any effect: the request is sent
	 * again five times, after 1, 2, 4, 8 and 16 s unless the server asks for another pause.
	 */
	HTTP_LOCK_PASSES = 1024,
	/*
	 * A 408 of an HTTP_REPEATABLE request is treated as HTTP_LOCK_PASSES does: the server was
	 * too late.
	 */
	HTTP_LATENESS_PASSES = 2048,
	/*
	 * The exchange has a connection of its own, closed afterwards: for streams that live as
	 * long as the mount.
	 */
	HTTP_OWN_CONNECTION = 4,
	/*
	 * A redirection is followed, GET and HEAD only, at most 5 times, secrets kept from other
	 * origins. Without the flag a 3xx is an answer like any other, except a 307 or 308 to the
	 * same origin for an HTTP_REPEATABLE request, which is followed.
	 */
	HTTP_FOLLOW = 8,
	/*
	 * For gRPC: an answer over any other version than HTTP/2 is ERR_PROTOCOL. TLS (ALPN)
	 * negotiates the version, so plain http never has it.
	 */
	HTTP_REQUIRE_2 = 32,
	/*
	 * The answer is large: over TLS the exchange has a connection for itself (HTTP/1.1), or
	 * with HTTP_REQUIRE_2 one for large exchanges only. The same holds for every request with a
	 * body from HTTP_BULK_MIN bytes on. So a request that a caller waits for never queues
	 * behind it. Nor is it bounded by the window of HTTP/2 or by libcurl's polling, which spins
	 * while that window is full.
	 */
	HTTP_BULK = 256,
	/*
	 * The server begins every answer at once, and GET / of its origin has no effect there:
	 * silence means a dead connection (silence.h). Not for a request that is answered only when
	 * it is done and may take long.
	 */
	HTTP_ANSWERS_AT_ONCE = 512,
};

/* The initial window of HTTP/2 (RFC 9113): so many bytes leave without an answer in any case. */
#define HTTP_BULK_MIN ((uint64_t)64 * 1024)

/* An answer, for the check whether it is the service's. */
struct http_said {
	int status;
	const char *type; /* the header Content-Type; "": none */
	const void *body;
	size_t len;
	bool is_whole; /* false: a good answer whose body is still to come */
	bool is_query; /* the request was a GET, which asks for facts and changes nothing */
};

/*
 * The form of a service's answers. An answer of another form comes from a proxy, a gateway or a
 * login page: it fails with ERR_UNREACHABLE and is repeated like a broken connection.
 */
struct http_frame {
	/*
	 * The types of good answers (2xx); a good answer of another type is not read. Several types
	 * have blanks between. NULL: any but HTML.
	 */
	const char *types;
	/* Whether the answer is the service's own; `f` is the frame. */
	bool (*is_own)(const struct http_frame *f, const struct http_said *said);
	/* for a person, behind the quoted answer: "is E2B_API_URL right?"; or NULL */
	const char *hint;
};

/*
 * All that it points to must outlive the exchange, except `headers`, `url` and `address`, which are
 * copied.
 */
struct http_request {
	enum http_method method;
	unsigned flags; /* enum http_flags */
	const char *url;
	/*
	 * The address to connect to, with the URL's port; the URL's host still names the server and
	 * its certificate. NULL: the URL's host.
	 */
	const char *address;
	const struct http_header *headers;
	size_t headers_count;
	const void *body; /* NULL: the body is from `source`, if any */
	uint64_t body_len;
	http_source source;
	void *source_context;
	const struct http_frame *frame; /* NULL: every answer is the service's */
};

/* ---- An exchange ---- */

/* The most bytes of an answer that wait for the reader. */
#define HTTP_WINDOW (1024 * 1024)

struct http_exchange;

/* Starts an exchange. On ERR_OK http_end() must follow. */
enum err http_begin(struct http *h, const struct http_request *request, struct http_exchange **out,
	struct error *e);

/*
 * Waits for the next piece of the answer's body; *len 0: the end, and the whole answer was good.
 * The bytes are valid until the next call. Repetitions happen inside. After an error http_header()
 * has the headers received so far, and http_end() must follow.
 */
enum err http_read(struct http_exchange *x, const struct call *call, const void **bytes,
	size_t *len, struct error *e);

/*
 * For an answer that is whole by its own words: waits, up to a second, until HTTP's end can be
 * read, so that the connection can be used again. false: that end did not come, and only http_end()
 * should follow.
 */
bool http_is_ending(const struct http_exchange *x, const struct call *call);

/*
 * Becomes readable when http_read() has a result; for poll(2) over several exchanges without
 * `source`.
 */
int http_fd(const struct http_exchange *x);

/*
 * The time of the last progress, in milliseconds of the monotonic clock; 0: none yet. For callers
 * that poll.
 */
int64_t http_moved_ms(const struct http_exchange *x);
/*
 * Adds the time and the sent bytes to the caller's progress; http_read() calls it several times a
 * second.
 */
void http_note_progress(struct http_exchange *x, const struct call *call);

/*
 * The status and the headers of the answer, known once http_read() returned ERR_OK, also with *len
 * 0. Header names in any case; NULL: no such header. Fields behind the body (trailers) are found
 * after the body's end, unless a header has the same name. After an error of http_read() both are
 * known if the answer ended by itself: a server may report a result and then break off.
 */
int http_status(const struct http_exchange *x);
const char *http_header(const struct http_exchange *x, const char *name);

/* The header Date, in seconds since 1970; 0: none, or out of range. */
int64_t http_date_s(const struct http_exchange *x);

/*
 * Masks secret headers of the request that `bytes` of the answer repeat, before the bytes become
 * part of an error. All of the answer at once: a part could hold half a secret.
 */
void http_blot_secrets(const struct http_exchange *x, void *bytes, size_t len);

/*
 * Whether the server may have received the request: false only when the server certainly did not
 * act on it, and will not. For that an exchange that still runs and was not sent yet is given up:
 * only http_end() may follow.
 */
bool http_may_have_arrived(struct http_exchange *x);

/* The foreign answers of the exchange's client. */
struct foreign_answers *http_foreign_of(const struct http_exchange *x);

/* Ends the exchange; if unfinished an HTTP/1.1 connection is closed, an HTTP/2 stream reset. */
void http_end(struct http_exchange *x);

/* ---- Small exchanges read whole ---- */

#define HTTP_BODY_MAX (16 * 1024 * 1024)

struct http_answer {
	int status;
	struct buf body;      /* at most HTTP_BODY_MAX; secrets masked for a status from 300 */
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

/*
 * The rest of http_perform() after http_begin(): reads the whole answer. The caller still calls
 * http_end().
 */
enum err http_read_answer(
	struct http_exchange *x, const struct call *call, struct http_answer *out, struct error *e);

/* ---- A connection that becomes a stream ---- */

/*
 * POST of a JSON text to a server that then stops speaking HTTP (Upgrade: tcp), on a connection of
 * its own to the socket of http_use_socket(). *fd, the caller's, is the stream and never blocks;
 * `received` gets the bytes of it that came with the answer. ERR_PROTOCOL: not HTTP.
 * ERR_UNREACHABLE: no connection, or another status than 101 and 200.
 */
enum err http_upgrade(struct http *h, const struct call *call, const char *path, const char *json,
	int *fd, struct buf *received, struct error *e);

/* ---- URLs ---- */

/*
 * ERR_INVALID unless the URL is https, or http to this machine (127.0.0.0/8, 0.0.0.0, ::1,
 * localhost and names below), and has no password.
 */
enum err http_check_url(const char *url, struct error *e);
/*
 * Whether an answer of the service at `by` may send us to `named`, key included. ERR_PROTOCOL in
 * these cases:
 * - http_check_url() refuses the URL;
 * - the URL has less TLS than `by`, a query or a fragment;
 * - its host is nearer to this machine than the host of `by`: this machine itself, the link, a
 *   private network.
 *
 * Every address that an answer names is checked here first.
 */
enum err http_check_named_url(const char *named, const char *by, struct error *e);
/*
 * Lets this client use http to the host of `url`, any port of it. For an address that the user
 * gave; before requests. ERR_NO_MEMORY.
 */
enum err http_allow_plain(struct http *h, const char *url, struct error *e);
/* http_check_url(), except for hosts of http_allow_plain(). `h` may be NULL. */
enum err http_check_reach(const struct http *h, const char *url, struct error *e);
/* Whether the host is of a private network, by its address or by a name that no public host has. */
bool http_is_private(const char *url);
/* Whether scheme, host and port are the same. */
bool http_same_origin(const char *one, const char *other);
/*
 * Percent-encodes everything but letters, digits and -._~ ; `keep`: characters that also stay
 * ("/").
 */
bool http_escape(struct buf *out, const char *text, const char *keep);
