/*
 * silence.h - finds connections that died without a word: the network changed, a NAT forgot them, the
 * machine slept. For http's own files; all of it is the I/O thread's.
 *
 * A server that answers at once (HTTP_ANSWERS_AT_ONCE) and says nothing for four round trips, or a
 * second where that is more, on a connection that was used before, is doubted: the root of the same
 * origin is asked for (GET /) on a new connection. Where that is answered, and the doubted one says
 * nothing for half as long again, its connection is dead. What may be sent twice is then sent on a
 * new one, the rest fails with ERR_UNREACHABLE, and no later request uses a connection that exists by
 * then. So an outage, and a server that is slow as a whole, are waited for. A new connection is never
 * doubted: a server that is slow at one request is asked twice at most, and each such mistake doubles
 * the time until the next doubt.
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

struct silence {
	struct transfers running;
	int64_t least_ms; /* of doubting; SILENCE_MIN_MS but in tests */
	int64_t first_bytes_ms[SILENCE_SAMPLES];
	unsigned samples;    /* that were ever taken */
	unsigned mistakes;   /* in a row */
	struct probe *probe; /* NULL: none runs */
	char *proved;        /* the URL of the last one that was answered; NULL: none was */
	int64_t proved_ms;   /* when that began */
	int64_t proof_ms;    /* when that was answered */
	int64_t look_ms;     /* when to look again; INT64_MAX: not before something happens */
};

void silence_init(struct silence *s);
/* Without the I/O thread. */
void silence_release(struct http *h);

/* `t` is set out to be sent, on a connection that is there. */
void silence_sending(struct transfer *t);
/* The first byte of an answer came. */
void silence_heard(struct transfer *t);
/* Gives up what is found dead, and sets `look_ms`. */
void silence_serve(struct http *h);
