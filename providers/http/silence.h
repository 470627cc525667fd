/*
 * silence.h - finds connections that died without a word: the network changed, a NAT forgot them, the
 * machine slept. For http's own files; all of it is the I/O thread's.
 *
 * Two things tell of a dead connection:
 *
 * - Its peer's kernel acknowledges nothing (sockets.h) for four round trips, or a second where that is
 *   more: neither what was sent nor a probe of keepalive, which asks each second while a request waits
 *   for its answer. That says nothing of the server, so it counts of every request, however long the
 *   answer may take. Where a new connection to the same place stands, and the kernel has sent once more
 *   on the old one since, in vain, that one is dead. During an outage no connection comes about.
 * - A server that answers at once (HTTP_ANSWERS_AT_ONCE) says nothing for as long, on a connection that
 *   was used before. Then the root of the same origin is asked for (GET /) on a new connection. Where
 *   that is answered, and the doubted one says nothing for half as long again, its connection is dead,
 *   though something on the way acknowledges what is sent. A server that is slow as a whole is waited
 *   for. One that is slow at one request is asked twice at most, since a new connection is not doubted
 *   for silence, and each such mistake doubles the time until the next doubt.
 *
 * All that runs on a dead connection is given up: what may be sent twice is sent on a new one, the rest
 * fails with ERR_UNREACHABLE. No later request uses a connection that exists by then, and others to the
 * same origin are asked each second, too.
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

/* What shows that an origin can be reached. */
enum proof_kind { PROOF_CONNECTED, PROOF_ANSWERED, PROOF_KINDS };

struct proof {
	char *url; /* NULL: there was none */
	int64_t begun_ms, proved_ms;
};

/* Of a connection that acknowledges nothing, since a new one stood. */
struct trial {
	int64_t proved_ms; /* when that was; 0: it has not yet */
	unsigned tries;    /* how often something had been sent in vain by then */
	int64_t due_ms;    /* when it is dead; 0: nothing was sent in vain since then */
};

struct silence {
	struct transfers running;
	int64_t least_ms; /* of doubting; SILENCE_MIN_MS but in tests */
	int64_t first_bytes_ms[SILENCE_SAMPLES];
	unsigned samples;                 /* that were ever taken */
	unsigned mistakes;                /* in a row */
	struct probe *probe;              /* NULL: none runs */
	struct proof proofs[PROOF_KINDS]; /* the last ones */
	int64_t look_ms; /* when to look again; INT64_MAX: not before something happens */
};

void silence_init(struct silence *s);
/* Without the I/O thread. */
void silence_release(struct http *h);

/* `t` is set out to be sent, on a connection that is there. */
void silence_sending(struct transfer *t);
/* The first byte of an answer came. */
void silence_heard(struct transfer *t);
/* `t` runs no more. */
void silence_ended(struct transfer *t);
/* Gives up what is found dead, and sets `look_ms`. */
void silence_serve(struct http *h);
