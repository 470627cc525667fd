/*
 * sockets.h - the sockets of a client's connections, and what the kernel knows of their peers. For
 * http's own files; all of it is the I/O thread's.
 *
 * The kernel of a peer acknowledges what arrives at once, however slow the server is: data, and the
 * probes of keepalive, which ask a connection on which nothing moves.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct http;

struct http_socket {
	LIST_ENTRY(http_socket) link;
	int fd;
	int64_t probed_after_ms; /* keepalive asks after so long without a packet from the peer */
};
LIST_HEAD(http_sockets, http_socket);

struct peer_state {
	bool owes;        /* something sent, or a probe, has no acknowledgement */
	bool owes_data;   /* something sent has none */
	unsigned tries;   /* how often that was sent again without one */
	int64_t quiet_ms; /* for so long nothing came from the peer */
};

/* libcurl has opened `fd`. */
void socket_opened(struct http *h, int fd);
/* libcurl's CURLOPT_CLOSESOCKETFUNCTION; its context is the client. */
int socket_close(void *context, curl_socket_t fd);
/* NULL: none of ours has these ports. */
struct http_socket *socket_find(const struct http *h, int local_port, int remote_port);
/* Without the I/O thread: forgets what libcurl did not close. */
void sockets_release(struct http *h);

/* Keepalive asks within a second from now on, or as seldom as on any kept connection. */
void socket_probe_often(struct http_socket *s);
void socket_probe_seldom(struct http_socket *s);
/* False: the kernel does not say. */
bool socket_peer(const struct http_socket *s, struct peer_state *out);
