/*
 * envd_server.h - a daemon on a loopback port that says what is written down for it: raw bytes,
 * whole or cut, at once or byte by byte, to several connections at the same time.
 */
#pragma once

#include "providers/base/buf.h"

#include <pthread.h>

struct envd_row {
	const char *want; /* what a request begins with: "POST /files" */
	const struct buf
		*answer;   /* with its status line and headers; NULL: the connection is closed */
	bool by_bytes;     /* each byte in a write of its own */
	const char *after; /* the answer waits until a request that begins so was read; or NULL */
	int gate_fd;       /* after the answer: waits until this eventfd was written to; 0: not */
	bool is_held;      /* then the client may close the connection; else the server does */
};

#define ENVD_ROWS_MAX 8

struct envd_server {
	char url[64];
	struct envd_row rows[ENVD_ROWS_MAX];
	size_t count;
	struct buf requests
		/* what each row got, headers and body; for reading after the stop */
		[ENVD_ROWS_MAX];
	bool used[ENVD_ROWS_MAX], read[ENVD_ROWS_MAX];
	int connections, unwanted; /* requests for which no row was left */
	int fd, stop_fd;
	pthread_t thread, peers[32];
	pthread_mutex_t lock; /* `used`, `read`, `unwanted` */
	pthread_cond_t news;
};

/* `rows` is copied. Each row serves one request. */
void envd_server_start(struct envd_server *s, const struct envd_row *rows, size_t count);
/* Closes everything. */
void envd_server_stop(struct envd_server *s);
/* Those of what was asked. Fails the test unless each row was asked for, and nothing else. */
void envd_server_check(const struct envd_server *s);
void envd_server_release(struct envd_server *s);

/* Appends an answer. `headers`: lines with their ends, or "". Its length is told. */
void put_answer(struct buf *out, int status, const char *headers, const void *body, size_t len);
/* The same in chunks of one byte, with or without the chunk that ends it. */
void put_chunked(struct buf *out, const char *headers, const struct buf *body, bool is_ended);

#define IS_PROTO_STREAM "Content-Type: application/connect+proto\r\n"
#define IS_PROTO        "Content-Type: application/proto\r\n"
#define IS_JSON         "Content-Type: application/json\r\n"
