#include "tests/relay/endpoint.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(struct source *s, uint32_t events)
{
	struct endpoint *e = (struct endpoint *)s;
	bool failed = events & (EPOLLHUP | EPOLLERR);

	if (failed || events & (EPOLLIN | EPOLLRDHUP))
		e->is_readable = true;
	if (failed || events & EPOLLOUT)
		e->is_writable = true;
	if (failed || events & EPOLLRDHUP)
		e->is_hung_up = true;
}

void endpoint_open(struct endpoint *e, const struct loop *loop, int fd)
{
	int on = 1;

	*e = (struct endpoint){ .source.ready = note, .fd = fd };
	/* The link alone decides when bytes leave. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	loop_add(loop, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &e->source);
}

ssize_t endpoint_read(struct endpoint *e, void *buffer, size_t len)
{
	ssize_t got = recv(e->fd, buffer, len, 0);

	if (got < 0 && errno == EAGAIN)
		e->is_readable = false;
	return got;
}

ssize_t endpoint_write(struct endpoint *e, const void *bytes, size_t len)
{
	ssize_t put = send(e->fd, bytes, len, MSG_NOSIGNAL);

	if (put < 0 && errno == EAGAIN)
		e->is_writable = false;
	return put;
}

void endpoint_end(const struct endpoint *e)
{
	shutdown(e->fd, SHUT_WR);
}

size_t endpoint_unsent(const struct endpoint *e)
{
	int unsent = 0;

	if (e->fd < 0 || ioctl(e->fd, SIOCOUTQ, &unsent) || unsent < 0)
		return 0;
	return (size_t)unsent;
}

void endpoint_close(struct endpoint *e, bool with_reset)
{
	struct linger none = { .l_onoff = 1, .l_linger = 0 };

	if (e->fd < 0)
		return;
	if (with_reset)
		setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	close(e->fd);
	e->fd = -1;
}
