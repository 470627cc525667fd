#include "providers/http/sockets.h"

#include "providers/base/call.h"
#include "providers/http/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The unsent bytes of a socket, besides those under way to the peer. So later requests on a
 * connection do not queue behind megabytes, and the number of sent bytes is exact. The I/O thread
 * refills the socket within a fraction of a millisecond, which is 1 Gbit/s.
 */
#define UNSENT_MAX ((int)128 * 1024)
/* For idle connections and normal traffic: every NAT on the way keeps the connection. */
#define SELDOM_IDLE_S     15
#define SELDOM_INTERVAL_S 5
/* For a late answer. */
#define OFTEN_S 1

/* ---- The sockets there are ---- */

static void set_keepalive(struct http_socket *s, int idle_s, int interval_s)
{
	int on = 1;

	setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	s->probed_after_ms = (int64_t)idle_s * 1000;
}

void socket_opened(struct http *h, int fd)
{
	struct http_socket *s = calloc(1, sizeof *s);
	int unsent = UNSENT_MAX;
	unsigned lost_ms = CALL_PROGRESS_MS;

	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof lost_ms);
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	if (!s)
		return;
	s->fd = fd;
	LIST_INSERT_HEAD(&h->sockets, s, link);
	socket_probe_seldom(s);
}

static void forget(struct http *h, struct http_socket *s)
{
	struct transfer *t;

	LIST_FOREACH(t, &h->silence.running, running)
	if (t->socket == s)
		t->socket = NULL;
	LIST_REMOVE(s, link);
	free(s);
}

int socket_close(void *context, curl_socket_t fd)
{
	struct http *h = context;
	struct http_socket *s;

	LIST_FOREACH(s, &h->sockets, link)
	if (s->fd == fd)
		break;
	if (s)
		forget(h, s);
	return close(fd);
}

void sockets_release(struct http *h)
{
	while (!LIST_EMPTY(&h->sockets))
		forget(h, LIST_FIRST(&h->sockets));
}

static int port_of(int fd, int (*name)(int fd, struct sockaddr *address, socklen_t *len))
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof address;

	if (name(fd, (struct sockaddr *)&address, &len))
		return -1;
	/* The port is at the same offset in both address families. */
	return ntohs(((const struct sockaddr_in *)&address)->sin_port);
}

struct http_socket *socket_find(const struct http *h, int local_port, int remote_port)
{
	struct http_socket *s;

	LIST_FOREACH(s, &h->sockets, link)
	if (port_of(s->fd, getsockname) == local_port && port_of(s->fd, getpeername) == remote_port)
		return s;
	return NULL;
}

/* ---- Peers ---- */

void socket_probe_often(struct http_socket *s)
{
	if (s->probed_after_ms != OFTEN_S * 1000)
		set_keepalive(s, OFTEN_S, OFTEN_S);
}

void socket_probe_seldom(struct http_socket *s)
{
	if (s->probed_after_ms != SELDOM_IDLE_S * 1000)
		set_keepalive(s, SELDOM_IDLE_S, SELDOM_INTERVAL_S);
}

bool socket_peer(const struct http_socket *s, struct peer_state *out)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof info;

	if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	out->has_unacked_data = info.tcpi_unacked > 0;
	out->has_unacked = out->has_unacked_data || info.tcpi_probes > 0;
	out->tries = (unsigned)info.tcpi_retransmits + info.tcpi_probes;
	out->quiet_ms = info.tcpi_last_ack_recv < info.tcpi_last_data_recv
		? info.tcpi_last_ack_recv
		: info.tcpi_last_data_recv;
	return true;
}
