/*
 * server.h - a server on a port of this machine that does what a test says, well or badly; one
 * thread for each connection.
 */
#pragma once

#include "providers/base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define SERVER_PEERS_MAX 2048

struct server;

/* One connection. */
struct peer {
	struct server *server;
	int fd;
	int number; /* in order of arrival; the server's first is 0 */
	pthread_t thread;
	bool is_joined;
	struct buf request; /* the last request, whole */
	size_t first_read;  /* bytes of `request` that came with the first recv(2) */
};

struct server {
	int fd, port;
	pthread_t thread;
	void (*handler)(struct peer *p);
	void *context;
	_Atomic int requests; /* requests that were read whole */
	_Atomic int connections;
	_Atomic long sent;    /* bytes that peer_send() has sent */
	pthread_mutex_t lock; /* held while a connection is begun and counted */
	struct peer peers[SERVER_PEERS_MAX];
};

void server_start(struct server *s, void (*handler)(struct peer *p), void *context);
/* Closes every connection, too. */
void server_stop(struct server *s);
/* "http://127.0.0.1:PORT" and `path`, in a buffer of the caller's. */
const char *server_url(const struct server *s, const char *path, char url[128]);
/* A port of this machine without a listener. */
int unused_port(void);

/* As recv(2), but goes on where the process was stopped meanwhile. */
ssize_t peer_receive(const struct peer *p, void *bytes, size_t len);
/* False: the client has closed the connection, or nothing came for a minute. */
bool peer_read_request(struct peer *p);
const char *peer_body(const struct peer *p);
/* False: the connection broke. */
bool peer_send(struct peer *p, const void *bytes, size_t len);
bool peer_say(struct peer *p, const char *text);
/* Waits until the client closes the connection. */
void peer_wait_end(struct peer *p);
/* From a test: waits until the handler of connection `number` is done. */
void server_join_peer(struct server *s, int number);
/*
 * Packets that come to the socket are dropped, without an acknowledgement, until
 * socket_find_again().
 */
void socket_lose(int fd);
void socket_find_again(int fd);
/* The connection is closed with a reset when the handler is done. */
void peer_reset(struct peer *p);
