#include "tests/relay/control.h"

#include "tests/relay/commands.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MAX_LEN   128
#define ANSWER_MAX_LEN 512
#define BACKLOG        16

struct control_client {
	struct source source;
	int fd;
	struct control *control;
	LIST_ENTRY(control_client) entry;
	size_t len;
	char line[LINE_MAX_LEN];
};

bool control_address(struct sockaddr_un *address, const char *path)
{
	size_t len = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof address->sun_path)
		return false;
	memcpy(address->sun_path, path, len + 1);
	return true;
}

/* ---- Clients ---- */

static void client_free(struct control_client *client)
{
	LIST_REMOVE(client, entry);
	close(client->fd);
	free(client);
}

static bool answer(struct control_client *client, char *line)
{
	struct relay *r = client->control->relay;
	const char *wrong = command_run(r, line);
	char text[ANSWER_MAX_LEN];
	int len;

	if (wrong)
		len = snprintf(text, sizeof text, "{\"error\": \"%s\"}\n", wrong);
	else
		len = counters_print(&r->common.counters, r->open, text, sizeof text);
	return send(client->fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) == len;
}

/* false: the client does not read its answers, or its line has no end. */
static bool answer_lines(struct control_client *client)
{
	char *newline;

	while ((newline = memchr(client->line, '\n', client->len))) {
		size_t len = (size_t)(newline - client->line) + 1;

		*newline = '\0';
		if (!answer(client, client->line))
			return false;
		client->len -= len;
		memmove(client->line, client->line + len, client->len);
	}
	return client->len < sizeof client->line;
}

static void client_ready(struct source *s, uint32_t events)
{
	struct control_client *client = (struct control_client *)s;
	ssize_t got = recv(client->fd, client->line + client->len,
		sizeof client->line - client->len, MSG_DONTWAIT);

	(void)events;
	client->len += got > 0 ? (size_t)got : 0;
	if (got <= 0 || !answer_lines(client))
		client_free(client);
}

static void control_ready(struct source *s, uint32_t events)
{
	struct control *c = (struct control *)s;
	struct control_client *client = calloc(1, sizeof *client);
	int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (!client || fd < 0) {
		free(client);
		return;
	}
	client->source.ready = client_ready;
	client->fd = fd;
	client->control = c;
	LIST_INSERT_HEAD(&c->clients, client, entry);
	loop_add(&c->relay->common.loop, fd, EPOLLIN, &client->source);
}

/* ---- The socket ---- */

void control_init(struct control *c, struct relay *r, const char *path)
{
	*c = (struct control){ .source.ready = control_ready, .relay = r };
	LIST_INIT(&c->clients);
	if (!control_address(&c->address, path))
		errx(2, "%s: too long for a socket", path);
	unlink(path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&c->address, sizeof c->address) ||
		listen(c->fd, BACKLOG))
		err(2, "%s", path);
	loop_add(&r->common.loop, c->fd, EPOLLIN, &c->source);
}

void control_release(struct control *c)
{
	while (!LIST_EMPTY(&c->clients))
		client_free(LIST_FIRST(&c->clients));
	close(c->fd);
	unlink(c->address.sun_path);
}
