/*
 * transfer.h - one sending of a request and its answer: what the I/O thread and the reader of the answer share.
 *
 * The I/O thread alone touches libcurl's handle. It fills `window` and drains `upload`; where there is no room, or nothing
 * to send, it pauses the transfer and goes on with others. The reader takes, fills, and asks for it to go on. A transfer
 * can be started again once it is over.
 *
 * The eventfd is readable exactly while the reader has something to do: it is set and reset under the lock, by tell.
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

/* What may be asked of the I/O thread. */
enum transfer_ask { TRANSFER_START = 1, TRANSFER_RESUME = 2, TRANSFER_STOP = 4 };

/* How it went; whole once `is_over`. */
struct outcome {
	struct error failure; /* ERR_OK: the answer came whole */
	int status;           /* 0: none came */
	bool was_sent; /* bytes of the request may have left, and are not said to be unprocessed */
	bool is_foreign; /* it came whole and is not the service's, as `failure` says */
	bool was_stale;  /* only its connection was at fault: worth another try at once */
	char *redirect;  /* where a 3xx points, absolute; owned; NULL: nowhere */
	int64_t retry_after_ms;
	enum retry_wish wish;
	int64_t received, took_ms; /* bytes of the body; for the log */
};

struct transfer {
	/* What is sent: the caller's, constant while it runs. */
	enum http_method method;
	unsigned flags;
	char *url, *shown;
	const struct curl_slist *headers, *address;
	const void *body;
	uint64_t body_len;
	bool has_source;
	bool is_fresh;                  /* goes on a new connection */
	bool is_bulk;                   /* goes apart from what is not, see HTTP_BULK */
	bool only_connects;             /* over when its connection stands */
	const struct http_frame *frame; /* NULL: none */

	/* The client's lock. */
	struct transfer *next_asking;
	unsigned asked; /* enum transfer_ask */

	/* The I/O thread's own. */
	CURL *easy;          /* NULL: does not run */
	struct http *client; /* where it last started */
	uint64_t drops;      /* of the client's, when it did */
	LIST_ENTRY(transfer) running;
	struct http_socket *socket; /* it is sent on; NULL: none yet, or not known */
	bool is_kept;               /* on a connection that was used before */
	bool is_heard;              /* a byte of the answer came */
	bool is_greeted;            /* its connection said how many streams it may have */
	bool is_dead;               /* its connection was found dead */
	unsigned stream;            /* of HTTP/2; 0: none yet */
	bool is_unprocessed;        /* the server says that it does not process it, see goaway.h */
	bool is_condemned;          /* is_dead, and it is to be given up */
	bool was_doubted;           /* was given up for silence, and not heard since */
	int64_t silent_since_ms;    /* nothing moved since then; monotonic */
	int64_t received_ms;        /* when a byte last came; likewise */
	struct trial trial;
	char error_text[CURL_ERROR_SIZE];
	unsigned sendings;  /* how often libcurl set out to send it */
	int64_t sending_ms; /* when it last did; monotonic */
	enum err refusal;   /* why a callback gave it up; ERR_OK: none did */
	const char *refusal_words;

	_Atomic int64_t
		progress_ms; /* on the monotonic clock: when it last moved, but for an answer that is a fault */
	_Atomic bool is_sent;    /* may have left, as far as is known now */
	_Atomic curl_off_t sent; /* bytes of the body, as far as libcurl has handed them on */

	int fd; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	/* All that follow: the lock. */
	bool is_signalled;
	bool is_over, is_stopped;
	bool is_held; /* the answer is only to be judged, not read: nobody is told before it is whole */
	bool has_fields;
	struct buf window; /* of the answer */
	struct buf fields;
	struct buf trailers; /* fields behind the body */
	bool is_receiving_paused, is_sending_paused;
	struct buf upload;
	size_t upload_taken;
	uint64_t upload_given; /* bytes of the body that were ever in `upload` */
	struct outcome outcome;
};

enum err transfer_init(struct transfer *t, struct error *e);
/* Only when the I/O thread has let go of it. */
void transfer_release(struct transfer *t);
/* Before another start: nothing of the last one stays. */
void transfer_reset(struct transfer *t);

/* ---- The I/O thread's ---- */

struct http;

/* transfer_callbacks.c: has libcurl fill `window` and drain `upload`. */
void transfer_set_callbacks(struct transfer *t);
void transfer_start(struct transfer *t, CURLM *multi, struct http *h, CURLSH *connections);
void transfer_resume(struct transfer *t);
/* Takes its handle from `multi`; `code` says how it ended. */
void transfer_finish(struct transfer *t, CURLM *multi, CURLcode code);
/*
 * Gives it up as one whose connection is dead: the reader sends it again at once, or fails with
 * ERR_UNREACHABLE and `why`.
 */
void transfer_give_up(struct transfer *t, CURLM *multi, const char *why);
/* Gives up what runs. The transfer may be gone when this returns: its reader waits for just that. */
void transfer_stop(struct transfer *t, CURLM *multi);

/* ---- Anybody's ---- */

/* Sets the eventfd or resets it, according to whether the reader has something to do. */
void transfer_tell_locked(struct transfer *t);
