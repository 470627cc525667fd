/*
 * transfer.h - one sending of a request and its answer: the state that the I/O thread and the
 * reader of the answer share.
 *
 * Only the I/O thread uses libcurl's handle. The thread fills `window` and drains `upload`; where
 * there is no room, or nothing to send, it pauses the transfer and goes on with others. The reader
 * takes from `window`, fills `upload`, and asks the thread to resume. A transfer can be started
 * again once it is over.
 *
 * The eventfd is readable exactly while there is work for the reader: transfer_tell_locked() sets
 * and resets it under the lock.
 */
#pragma once

#include "providers/http/fields.h"
#include "providers/http/http.h"
#include "providers/http/retry.h"
#include "providers/http/silence.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/* The asks to the I/O thread. */
enum transfer_ask { TRANSFER_START = 1, TRANSFER_RESUME = 2, TRANSFER_STOP = 4 };

/* The result of a sending; complete once `is_over`. */
struct outcome {
	struct error failure; /* ERR_OK: the answer came whole */
	int status;           /* 0: no status received */
	/* bytes of the request may have left, and the server did not report it as unprocessed */
	bool was_sent;
	bool is_foreign; /* the answer came whole and is not the service's, as `failure` says */
	bool was_stale;  /* only the connection was at fault: worth another try at once */
	char *redirect;  /* the absolute URL of a 3xx; owned; NULL: none */
	int64_t retry_after_ms;
	enum retry_wish wish;
	int64_t received, took_ms; /* bytes of the body; for the log */
};

struct transfer {
	/* The request: owned by the caller, constant while it runs. */
	enum http_method method;
	unsigned flags;
	char *url, *shown;
	const struct curl_slist *headers, *address;
	const void *body;
	uint64_t body_len;
	bool has_source;
	bool is_fresh; /* uses a new connection */
	/* uses a connection apart from small exchanges, see HTTP_BULK */
	bool is_bulk;
	long connect_ms;                /* until the connection stands; 0: libcurl's limit */
	bool only_connects;             /* over when the connection stands */
	const struct http_frame *frame; /* NULL: none */

	/* Under the client's lock. */
	struct transfer *next_asking;
	unsigned asked; /* enum transfer_ask */

	/* The I/O thread's own. */
	CURL *easy;          /* NULL: does not run */
	struct http *client; /* where it last started */
	uint64_t drops;      /* the client's count of drops at that start */
	LIST_ENTRY(transfer) running;
	struct http_socket *socket; /* the socket in use; NULL: none yet, or not known */
	bool is_kept;               /* the connection was used before */
	bool has_received;          /* a byte of the answer came */
	bool is_dead;               /* the connection was found dead */
	unsigned stream;            /* HTTP/2's stream; 0: none yet */
	bool is_unprocessed;        /* the server says that it does not process it, see goaway.h */
	bool is_condemned;          /* is_dead, and it is to be given up */
	bool was_suspected;         /* was given up for silence, and received nothing since */
	int64_t silent_since_ms;    /* nothing moved since then; monotonic */
	int64_t received_ms;        /* when a byte last came; likewise */
	struct trial trial;
	unsigned pings; /* over all sendings */
	char error_text[CURL_ERROR_SIZE];
	unsigned sendings;  /* how often libcurl set out to send it */
	int64_t sending_ms; /* when it last did; monotonic */
	enum err refusal;   /* why a callback gave it up; ERR_OK: none did */
	const char *refusal_words;

	/* monotonic clock: the last move, except bytes of a refusing answer */
	_Atomic int64_t progress_ms;
	_Atomic bool is_sent;    /* the request may have left, as far as is known now */
	_Atomic curl_off_t sent; /* bytes of the body that libcurl has handed on */

	int fd; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	/* Under the lock, as all that follow. */
	bool is_signalled;
	bool is_over, is_stopped;
	/*
	 * the answer is to be checked before it is read: the reader gets nothing until it is whole
	 */
	bool is_held;
	bool has_fields;
	struct buf window; /* bytes of the answer */
	struct buf fields;
	struct buf trailers; /* fields behind the body */
	bool is_receiving_paused, is_sending_paused;
	struct buf upload;
	size_t upload_taken;
	uint64_t upload_given; /* bytes of the body that were ever put into `upload` */
	struct outcome outcome;
};

enum err transfer_init(struct transfer *t, struct error *e);
/* Only after the I/O thread has released the transfer. */
void transfer_release(struct transfer *t);
/* Called before another start: clears the state of the last one. */
void transfer_reset(struct transfer *t);

/* ---- For the I/O thread ---- */

struct http;

/* transfer_callbacks.c: has libcurl fill `window` and drain `upload`. */
void transfer_set_callbacks(struct transfer *t);
void transfer_start(struct transfer *t, CURLM *multi, struct http *h, CURLSH *connections);
void transfer_resume(struct transfer *t);
/* Takes the handle from `multi`; `code` is the result. */
void transfer_finish(struct transfer *t, CURLM *multi, CURLcode code);
/*
 * Gives up a transfer whose connection is dead: the reader sends it again at once, or fails with
 * ERR_UNREACHABLE and `why`.
 */
void transfer_give_up(struct transfer *t, CURLM *multi, const char *why);
/*
 * Stops a running transfer. The transfer may be gone when this returns: its reader waits for the
 * stop.
 */
void transfer_stop(struct transfer *t, CURLM *multi);

/* ---- For any thread ---- */

/* Sets the eventfd or resets it, according to whether there is work for the reader. */
void transfer_tell_locked(struct transfer *t);
