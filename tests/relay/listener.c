#include "tests/relay/listener.h"

#include <err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 256

static void note(struct source *s, uint32_t events)
{
	(void)events;
	((struct listener *)s)->is_ready = true;
}

/* A bound socket that does not listen refuses, and keeps the port from other programs. */
static void bind_port(struct listener *l)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(l->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	int on = 1;

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&address, sizeof address) ||
		getsockname(l->fd, (struct sockaddr *)&address, &len))
		err(2, "port %u", l->port);
	l->port = ntohs(address.sin_port);
}

static void start_listening(struct listener *l, const struct loop *loop)
{
	if (listen(l->fd, BACKLOG))
		err(2, "listening on port %u", l->port);
	loop_add(loop, l->fd, EPOLLIN | EPOLLET, &l->source);
	l->is_ready = true;
	l->is_refusing = false;
}

void listener_init(struct listener *l, const struct loop *loop, in_port_t port)
{
	*l = (struct listener){ .source.ready = note, .port = port };
	bind_port(l);
	start_listening(l, loop);
}

void listener_release(struct listener *l)
{
	close(l->fd);
}

void listener_refuse(struct listener *l)
{
	if (l->is_refusing)
		return;
	close(l->fd);
	bind_port(l);
	l->is_refusing = true;
	l->is_ready = false;
}

void listener_accept_again(struct listener *l, const struct loop *loop)
{
	if (l->is_refusing)
		start_listening(l, loop);
}

int listener_next(struct listener *l)
{
	int fd = -1;

	if (l->is_ready)
		fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	l->is_ready = fd >= 0;
	return fd;
}
