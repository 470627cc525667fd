/*
 * sockets.h - the sockets of a client's connections, and what the kernel knows of their peers. For
 * http's own files; used by the I/O thread only.
 *
 * The kernel of a peer acknowledges at once all that arrives, however slow the server is: data, and
 * the probes of keepalive on a connection without traffic.
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
	int64_t probed_after_ms; /* keepalive probes after so long without a packet from the peer */
};
LIST_HEAD(http_sockets, http_socket);

struct peer_state {
	bool has_unacked;      /* sent data, or a probe, has no acknowledgement */
	bool has_unacked_data; /* sent data has no acknowledgement */
	unsigned tries;        /* how often the unacknowledged was sent again */
	int64_t quiet_ms;      /* the time since the last packet from the peer */
};

/* Called when libcurl has opened `fd`. */
void socket_opened(struct http *h, int fd);
/* libcurl's CURLOPT_CLOSESOCKETFUNCTION; its context is the client. */
int socket_close(void *context, curl_socket_t fd);
/* NULL: no socket of ours has these ports. */
struct http_socket *socket_find(const struct http *h, int local_port, int remote_port);
/* Without the I/O thread: releases the sockets that libcurl did not close. */
void sockets_release(struct http *h);

/* Makes keepalive probe each second, or as seldom as on any kept connection. */
void socket_probe_often(struct http_socket *s);
void socket_probe_seldom(struct http_socket *s);
/* False: the kernel does not say. */
bool socket_peer(const struct http_socket *s, struct peer_state *out);
