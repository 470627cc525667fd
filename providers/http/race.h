/*
 * race.h - a second sending of a request beside the first, on a new connection: whichever is answered
 * first counts, and the other one ends. For http's own files; all of it is the I/O thread's.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

struct http;
struct transfer;

/* One sending of a transfer: what libcurl's callbacks are given. */
struct sending {
	struct transfer *transfer;
	unsigned count;   /* how often libcurl set out to send it */
	int64_t since_ms; /* when it last did; monotonic */
};

/* Once for each start, of a transfer that runs and was not heard, and whose body is in memory. */
void race_begin(struct http *h, struct transfer *t);
/* A header came on `s`. False: another sending counts. */
bool race_hears(struct sending *s);
/* Lets go of the sending that does not count; nothing where there is none. */
void race_end(struct transfer *t, CURLM *multi);
