/*
 * silence.h - finds connections that died silently: the network changed, a NAT dropped them, the
 * machine slept. For http's own files; used by the I/O thread only.
 *
 * Two signs show a dead connection:
 *
 * - Its peer's kernel acknowledges nothing (sockets.h) for four round trips, or a second where that
 *   is more: neither what was sent nor a probe of keepalive, which asks each second while a request
 *   waits for its answer. That says nothing of the server, so it counts of every request, however
 *   long the answer may take. Where a new connection to the same place stands, and the kernel has
 *   sent once more on the old one since, in vain, that one is dead. During an outage no connection
 *   comes about.
 * - A server that answers at once (HTTP_ANSWERS_AT_ONCE) says nothing for as long, on a connection
 *   that was used before. Then the root of the same origin is asked for (GET /) on a new
 *   connection. Where that is answered, and the doubted one says nothing for half as long again,
 *   its connection is dead, though something on the way acknowledges what is sent. A server that is
 *   slow as a whole is waited for. One that is slow at one request is asked twice at most, since a
 *   new connection is not doubted for silence, and each such mistake doubles the time until the
 *   next doubt.
 *
 * A request whose answer may take long says nothing by its own silence. Over HTTP/2 the root is
 * asked for on the same connection, after the same time and then after twice as long each time: a
 * ping. The server answers it at once, so its silence counts as the connection's.
 *
 * All transfers on a dead connection are given up: those that may be sent twice are sent on a new
 * connection, the others fail with ERR_UNREACHABLE. No later request uses a connection that exists
 * by then, and keepalive probes the others to the same origin each second, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct http;
struct probe;
struct transfer;

#define SILENCE_MIN_MS 1000
/* The least of so many last first bytes counts as a round trip. */
#define SILENCE_SAMPLES 16

LIST_HEAD(transfers, transfer);

/* The ways in which an origin proves to be reachable. */
enum proof_kind { PROOF_CONNECTED, PROOF_ANSWERED, PROOF_KINDS };

struct proof {
	char *url; /* NULL: no proof yet */
	int64_t begun_ms, proved_ms;
};

/* The state of a connection without acknowledgements, while a new one stands. */
struct trial {
	int64_t proved_ms; /* when the new one stood; 0: not yet */
	unsigned tries;    /* how often data had been sent in vain by then */
	/* when the connection counts as dead; 0: nothing was sent in vain since */
	int64_t due_ms;
};

struct silence {
	struct transfers running;
	int64_t least_ms; /* least time until a check; SILENCE_MIN_MS except in tests */
	int64_t first_bytes_ms[SILENCE_SAMPLES];
	unsigned samples;                 /* taken so far */
	unsigned mistakes;                /* false alarms in a row */
	struct probe *probe;              /* NULL: none runs */
	struct probe *ping;               /* on the connection of a late answer; NULL: none runs */
	struct proof proofs[PROOF_KINDS]; /* the last ones */
	int64_t look_ms; /* when to look again; INT64_MAX: not before something happens */
};

void silence_init(struct silence *s);
/* Runs without the I/O thread. */
void silence_release(struct http *h);

/* Called when libcurl begins to send `t`, on an existing connection. */
void silence_sending(struct transfer *t);
/* Called at the first byte of an answer. */
void silence_received(struct transfer *t);
/* Called when `t` has stopped running. */
void silence_ended(struct transfer *t);
/* Gives up the transfers on dead connections, and sets `look_ms`. */
void silence_serve(struct http *h);
