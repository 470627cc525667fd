/*
 * exchange.h - a request and its answer as the reader sees them, over all sendings; for http's own
 * files.
 *
 * The reader owns all of it, one thread at a time, except `transfer`, which the I/O thread shares.
 */
#pragma once

#include "providers/http/client.h"

struct http_exchange {
	struct http *client;
	struct transfer transfer;

	struct curl_slist *headers,
		*open_headers;      /* the second without secrets; NULL: not needed */
	struct curl_slist *secrets; /* values to be masked */
	struct curl_slist *address; /* NULL: the host of the URL */
	char *origin;               /* the first URL */
	http_source source;
	void *source_context;
	struct buf piece; /* the piece of the answer that the reader has */
	struct buf ready; /* the next piece of the body, to be handed on */
	uint64_t made;    /* bytes of the body read from the source */
	/* bytes of the body, in this sending, that were reported to the caller as sent */
	curl_off_t reported;
	/* the start of the deadline, which a move of this sending puts off; 0: not read yet */
	int64_t since_ms;
	unsigned repetitions, redirections;
	bool has_given; /* the reader has bytes of the answer's body */
	bool is_final;  /* the answer, or the failure, is final */
	bool may_have_arrived;
	bool is_stopped; /* the I/O thread has forgotten the transfer */
};

/* Takes `url`, also on failure; NULL: ERR_NO_MEMORY. */
enum err exchange_set_url(struct http_exchange *x, char *url, struct error *e);

/* Starts a sending from the beginning. */
void exchange_start(struct http_exchange *x);

/*
 * exchange_feed.c: gives the I/O thread as much of a source's body as fits, and prepares the next
 * piece.
 */
enum err exchange_feed(struct http_exchange *x, struct error *e);

/*
 * exchange_conclude.c: decides after a sending: the result is final (`is_final`), or the request is
 * sent again, or to another URL.
 */
enum err exchange_conclude(struct http_exchange *x, const struct call *call, struct error *e);

/* Whether the answer is a redirection that may be followed. */
bool exchange_may_follow(const struct http_exchange *x);

/*
 * The time until the deadline, in milliseconds, as known now; moved bytes put it off. INT64_MAX: no
 * deadline.
 */
int64_t exchange_left_ms(const struct http_exchange *x, const struct call *call);
