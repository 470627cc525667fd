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
	int number; /* 0: the server's first */
	pthread_t thread;
	bool is_joined;
	struct buf request; /* the last one, whole */
	size_t first_read;  /* bytes of it that came with the first recv(2) */
};

struct server {
	int fd, port;
	pthread_t thread;
	void (*handler)(struct peer *p);
	void *context;
	_Atomic int requests; /* that were read whole */
	_Atomic int connections;
	_Atomic long sent;    /* bytes, by peer_send() */
	pthread_mutex_t lock; /* held while a connection is begun and counted */
	struct peer peers[SERVER_PEERS_MAX];
};

void server_start(struct server *s, void (*handler)(struct peer *p), void *context);
/* Closes every connection, too. */
void server_stop(struct server *s);
/* "http://127.0.0.1:PORT" and `path`, in a buffer of the caller's. */
const char *server_url(const struct server *s, const char *path, char url[128]);
/* A port of this machine on which nobody listens. */
int unused_port(void);

/* As recv(2), but that goes on where the process was stopped meanwhile. */
ssize_t peer_receive(const struct peer *p, void *bytes, size_t len);
/* False: the client has closed it, or nothing came for a minute. */
bool peer_read_request(struct peer *p);
const char *peer_body(const struct peer *p);
/* False: it broke. */
bool peer_send(struct peer *p, const void *bytes, size_t len);
bool peer_say(struct peer *p, const char *text);
/* Until the client closes it. */
void peer_wait_end(struct peer *p);
/* From a test: waits until the handler of connection `number` is done. */
void server_join_peer(struct server *s, int number);
/*
 * Packets that come to the socket are dropped, and acknowledged by nobody, until they are let in
 * again.
 */
void socket_lose(int fd);
void socket_find_again(int fd);
/* When the handler is done it is closed so that the client gets a reset. */
void peer_reset(struct peer *p);
