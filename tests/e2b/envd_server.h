/*
 * envd_server.h - a daemon on a loopback port that sends given answers: raw bytes, whole or cut, at
 * once or byte by byte, on several connections at the same time.
 */
#pragma once

#include "providers/base/buf.h"

#include <pthread.h>

struct envd_row {
	const char *want; /* how the request begins: "POST /files" */
	/* with its status line and headers; NULL: the connection is closed */
	const struct buf *answer;
	bool by_bytes; /* each byte is sent by a write of its own */
	/* the answer waits until a request that begins so has been read; NULL: it does not wait */
	const char *after;
	/*
	 * after the answer the server waits until this eventfd is written to; 0: it does not wait
	 */
	int gate_fd;
	/* the client may close the connection after that; false: the server closes it */
	bool is_held;
};

#define ENVD_ROWS_MAX 8

struct envd_server {
	char url[64];
	struct envd_row rows[ENVD_ROWS_MAX];
	size_t count;
	/* the headers and body that each row got; for reading after the stop */
	struct buf requests[ENVD_ROWS_MAX];
	bool used[ENVD_ROWS_MAX], read[ENVD_ROWS_MAX];
	int connections, unwanted; /* requests for which no row was left */
	int fd, stop_fd;
	pthread_t thread, peers[32];
	pthread_mutex_t lock; /* guards `used`, `read`, `unwanted` */
	pthread_cond_t news;
};

/* `rows` is copied. Each row serves one request. */
void envd_server_start(struct envd_server *s, const struct envd_row *rows, size_t count);
/* Closes all connections. */
void envd_server_stop(struct envd_server *s);
/* Fails the test unless each row was asked for, and nothing else. */
void envd_server_check(const struct envd_server *s);
void envd_server_release(struct envd_server *s);

/* Appends an answer, with its length in a header. `headers`: lines with their ends, or "". */
void put_answer(struct buf *out, int status, const char *headers, const void *body, size_t len);
/* Appends an answer in chunks of one byte, with or without the chunk that ends it. */
void put_chunked(struct buf *out, const char *headers, const struct buf *body, bool is_ended);

#define IS_PROTO_STREAM "Content-Type: application/connect+proto\r\n"
#define IS_PROTO        "Content-Type: application/proto\r\n"
#define IS_JSON         "Content-Type: application/json\r\n"
