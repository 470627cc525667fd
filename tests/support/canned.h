/*
 * canned.h - a server on a loopback port whose conversation is written down: one row for each
 * request, in order.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct canned_row {
	const char *want; /* the beginning of the request: "GET /sandboxes/i1 " */
	int status;       /* 0: the connection is closed instead */
	const char *body; /* NULL: none */
	/* more headers, each with its line end; NULL: none. The default content type is JSON. */
	const char *headers;
};

#define CANNED_REQUESTS_MAX 64

struct canned {
	char url[64];
	const struct canned_row *rows;
	size_t count;
	/* The requests that came, each with its headers and body; valid after canned_stop(). */
	char *requests[CANNED_REQUESTS_MAX];
	size_t got;
	size_t unwanted;     /* requests that were not due; they got 418 */
	atomic_int delay_ms; /* before each answer; at first 0 */
	atomic_bool
		repeats_at_end; /* the last row is for all further requests, too; at first false */
	int fd, stop_fd;
	pthread_t thread;
};

void canned_start(struct canned *c, const struct canned_row *rows, size_t count);
/* Fails the test unless exactly the rows were asked for, in order. */
void canned_stop(struct canned *c);

#define CANNED_START(c, rows) canned_start(c, rows, sizeof(rows) / sizeof *(rows))
