/* room.h - the common set-up of the tests of HTTP: a client, a server, a deadline. */
#pragma once

#include "providers/http/http.h"
#include "tests/http/server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

struct room {
	struct http *http;
	struct server server;
	char url[128]; /* the server's URL, with the path "/x" */
	struct error e;
};

/* Starts a server with `handler`, and a client. */
void room_open(struct room *r, void (*handler)(struct peer *p), void *context);
void room_close(struct room *r);

/* A request without a body to the room's server. */
struct http_request room_request(const struct room *r, enum http_method method, unsigned flags);
/* Begins the request, and asserts that it began. */
struct http_exchange *room_begin(struct room *r, const struct http_request *request);
/* http_perform() with a deadline of a minute on progress. */
enum err room_perform(struct room *r, const struct http_request *request, struct http_answer *out);

/* Waits until `count` connections have stood before any request was there for them. */
void room_await_preconnected(struct http *h, int count);

/* A handler: "ok" to every request. */
void answer_ok(struct peer *p);
#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
