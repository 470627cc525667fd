#include "tests/http/server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S  60
#define REQUEST_MAX ((size_t)64 * 1024 * 1024)

/* ---- One connection ---- */

ssize_t peer_receive(const struct peer *p, void *bytes, size_t len)
{
	ssize_t got;

	do
		got = recv(p->fd, bytes, len, 0);
	while (got < 0 && errno == EINTR);
	return got;
}

static ssize_t receive(struct peer *p)
{
	unsigned char *place = buf_reserve(&p->request, 256 * 1024);
	ssize_t got = place ? peer_receive(p, place, 256 * 1024) : -1;

	if (got > 0)
		buf_filled(&p->request, (size_t)got);
	return got;
}

const char *peer_body(const struct peer *p)
{
	const char *end = strstr(buf_text(&p->request), "\r\n\r\n");

	return end ? end + 4 : NULL;
}

static bool is_whole(const struct peer *p)
{
	const char *body = peer_body(p);
	const char *length = strcasestr(buf_text(&p->request), "\r\nContent-Length:");
	size_t head = body ? (size_t)(body - buf_text(&p->request)) : 0;

	if (!body)
		return false;
	return !length || length > body || p->request.len - head >= strtoul(length + 17, NULL, 10);
}

bool peer_read_request(struct peer *p)
{
	p->first_read = 0;
	buf_reset(&p->request);
	do {
		if (receive(p) <= 0)
			return false;
		if (!p->first_read)
			p->first_read = p->request.len;
	} while (!is_whole(p));
	p->server->requests++;
	return true;
}

bool peer_send(struct peer *p, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t sent = send(p->fd, at, len, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		p->server->sent += sent;
		at += sent;
		len -= (size_t)sent;
	}
	return true;
}

bool peer_say(struct peer *p, const char *text)
{
	return peer_send(p, text, strlen(text));
}

void peer_wait_end(struct peer *p)
{
	char scrap[4096];

	while (peer_receive(p, scrap, sizeof scrap) > 0)
		;
}

void socket_lose(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	cr_assert(
		zero(int, setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)));
}

void socket_find_again(int fd)
{
	int ignored = 0;

	cr_assert(
		zero(int, setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored)));
}

void peer_reset(struct peer *p)
{
	struct linger hard = { .l_onoff = 1 };

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

static void *serve_peer(void *context)
{
	struct peer *p = context;
	struct linger linger;
	socklen_t size = sizeof linger;

	/* A client that has an answer finds its connection counted. */
	pthread_mutex_lock(&p->server->lock);
	pthread_mutex_unlock(&p->server->lock);
	p->server->handler(p);
	/*
	 * The descriptor stays open until server_stop(), so that no other connection gets its
	 * number.
	 */
	getsockopt(p->fd, SOL_SOCKET, SO_LINGER, &linger, &size);
	if (linger.l_onoff)
		connect(p->fd, &(struct sockaddr){ .sa_family = AF_UNSPEC },
			sizeof(struct sockaddr));
	else
		shutdown(p->fd, SHUT_RDWR);
	return NULL;
}

/* ---- The server ---- */

static void *serve(void *context)
{
	struct server *s = context;
	struct timeval limit = { .tv_sec = PATIENCE_S };
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		cr_assert(lt(int, s->connections, SERVER_PEERS_MAX));
		struct peer *p = &s->peers[s->connections];

		*p = (struct peer){ .server = s,
			.fd = fd,
			.number = s->connections,
			.request = BUF_INIT(REQUEST_MAX) };
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		pthread_mutex_lock(&s->lock);
		pthread_create(&p->thread, NULL, serve_peer, p);
		s->connections++;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static int bound(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
	cr_assert(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	*port = ntohs(a.sin_port);
	return fd;
}

int unused_port(void)
{
	int port;

	/*
	 * The port stays bound to the end of the process: no other test, and no end of a
	 * connection, gets it.
	 */
	bound(&port);
	return port;
}

void server_start(struct server *s, void (*handler)(struct peer *p), void *context)
{
	s->handler = handler;
	s->context = context;
	s->requests = s->connections = 0;
	s->sent = 0;
	pthread_mutex_init(&s->lock, NULL);
	s->fd = bound(&s->port);
	cr_assert(listen(s->fd, 64) == 0);
	cr_assert(pthread_create(&s->thread, NULL, serve, s) == 0);
}

void server_join_peer(struct server *s, int number)
{
	if (!s->peers[number].is_joined)
		pthread_join(s->peers[number].thread, NULL);
	s->peers[number].is_joined = true;
}

void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	for (int i = 0; i < s->connections; i++) {
		shutdown(s->peers[i].fd, SHUT_RDWR);
		server_join_peer(s, i);
		close(s->peers[i].fd);
		buf_release(&s->peers[i].request);
	}
	pthread_mutex_destroy(&s->lock);
}

const char *server_url(const struct server *s, const char *path, char url[128])
{
	snprintf(url, 128, "http://127.0.0.1:%d%s", s->port, path);
	return url;
}
