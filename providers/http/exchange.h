/*
 * exchange.h - a request and its answer as its reader sees them, over all sendings; for http's own files.
 *
 * All of it is the reader's, one thread at a time, but for `transfer`, which the I/O thread shares.
 */
#pragma once

#include "providers/http/client.h"

struct http_exchange {
	struct http *client;
	struct transfer transfer;

	struct curl_slist *headers,
		*open_headers;      /* the second without secrets; NULL: not needed */
	struct curl_slist *secrets; /* values, to be blotted out */
	struct curl_slist *address; /* NULL: that of the URL's host */
	char *origin;               /* the first URL */
	http_source source;
	void *source_context;
	struct buf piece; /* of the answer: what it was last given */
	struct buf ready; /* of the body: what is handed on next */
	uint64_t made;    /* bytes of the body asked of the source */
	curl_off_t told;  /* bytes of it that the caller was told have left, in this sending */
	int64_t since_ms; /* the deadline counts from here, or from what this sending moved; 0: not read yet */
	unsigned repetitions, redirections;
	bool has_given;  /* bytes of the answer's body */
	bool is_settled; /* the answer, or the failure, is final */
	bool may_have_arrived;
	bool is_stopped; /* the I/O thread has forgotten the transfer */
};

/* Takes `url`, also on failure; NULL: ERR_NO_MEMORY. */
enum err exchange_set_url(struct http_exchange *x, char *url, struct error *e);

/* Sends it, from the beginning. */
void exchange_start(struct http_exchange *x);

/* exchange_feed.c: gives the I/O thread what it has room for of a source's body, and has the next piece ready. */
enum err exchange_feed(struct http_exchange *x, struct error *e);

/* exchange_settle.c: the sending is over. That was it (`is_settled`), or it is sent again, or elsewhere. */
enum err exchange_settle(struct http_exchange *x, const struct call *call, struct error *e);

/* Whether what came sends it elsewhere, and it may be sent there. */
bool exchange_may_follow(const struct http_exchange *x);

/* Until the deadline, in milliseconds, as far as is known now; what moves puts it off. INT64_MAX: none. */
int64_t exchange_left_ms(const struct http_exchange *x, const struct call *call);
