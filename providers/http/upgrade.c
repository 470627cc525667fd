/*
 * A connection to a unix socket that is HTTP for one request and a stream of bytes afterwards.
 * libcurl has no call for that: it takes what follows as a body, and can send none of its own.
 */
#include "providers/base/cleanup.h"
#include "providers/http/client.h"
#include "providers/http/fields.h"
#include "providers/http/http.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PIECE ((size_t)4 * 1024)
/* How long a server has for the connections that wait before this one is tried again. */
#define BUSY_MS 10

static enum err lost(const char *path, const char *why, struct error *e)
{
	return error_set(e, ERR_UNREACHABLE, "POST %s: %s", path, why);
}

/* EAGAIN: too many connections wait for the server, and poll(2) does not tell when fewer do. */
static enum err open_socket(const struct http *h, const struct call *call, int *fd, struct error *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	enum err kind = ERR_OK;

	if (!h->socket_path || strlen(h->socket_path) >= sizeof to.sun_path)
		return error_set(e, ERR_INVALID, "no path of a socket");
	strcpy(to.sun_path, h->socket_path);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return error_errno(e, errno, "a socket");
	while (!kind && connect(*fd, (struct sockaddr *)&to, sizeof to)) {
		if (errno != EAGAIN && errno != EINTR)
			return error_set(
				e, ERR_UNREACHABLE, "%s: %s", h->socket_path, strerror(errno));
		kind = call_check_time(call, e);
		if (!kind)
			kind = call_sleep(call, BUSY_MS, e);
	}
	return kind;
}

static enum err send_all(
	int fd, const struct call *call, const struct buf *text, const char *path, struct error *e)
{
	size_t done = 0;
	enum err kind = ERR_OK;

	while (!kind && done < text->len) {
		ssize_t sent = send(fd, text->bytes + done, text->len - done, MSG_NOSIGNAL);

		if (sent > 0)
			done += (size_t)sent;
		else if (errno != EAGAIN && errno != EINTR)
			return lost(path, strerror(errno), e);
		else
			kind = call_wait_fd(call, fd, POLLOUT, e);
	}
	return kind;
}

/* Reads up to the end of the headers, and what came behind it. */
static enum err read_head(int fd, const struct call *call, const char *path, struct buf *received,
	size_t *head_len, struct error *e)
{
	enum err kind = ERR_OK;
	const unsigned char *end = NULL;

	while (!kind && !end) {
		unsigned char *room = buf_reserve(received, PIECE);
		ssize_t got;

		if (!room || received->len > FIELDS_MAX)
			return error_set(e, ERR_PROTOCOL, "POST %s: no end of its headers", path);
		kind = call_wait_fd(call, fd, POLLIN, e);
		got = kind ? 0 : recv(fd, room, PIECE, 0);
		if (!kind && (!got || (got < 0 && errno != EAGAIN && errno != EINTR)))
			return lost(path, "the connection broke before an answer came", e);
		if (got > 0)
			buf_filled(received, (size_t)got);
		if (received->len)
			end = memmem(received->bytes, received->len, "\r\n\r\n", 4);
	}
	*head_len = end ? (size_t)(end - received->bytes) + 4 : 0;
	return kind;
}

static enum err check_status(const char *head, const char *path, struct error *e)
{
	int status = 0;

	if (sscanf(head, "HTTP/1.%*1d %3d", &status) != 1)
		return error_set(e, ERR_PROTOCOL, "POST %s: the answer is not HTTP", path);
	if (status == 101 || status == 200)
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "POST %s: status %d", path, status);
}

enum err http_upgrade(struct http *h, const struct call *call, const char *path, const char *json,
	int *fd, struct buf *received, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(FIELDS_MAX);
	AUTO_CLOSE int stream = -1;
	size_t head_len = 0;
	enum err kind;

	buf_printf(&text,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: %s\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n"
		"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n%s",
		path, h->user_agent, strlen(json), json);
	kind = buf_check(&text, "a request", e);
	if (!kind)
		kind = open_socket(h, call, &stream, e);
	if (!kind)
		kind = send_all(stream, call, &text, path, e);
	if (!kind)
		kind = read_head(stream, call, path, received, &head_len, e);
	if (!kind)
		kind = check_status(buf_text(received), path, e);
	if (kind)
		return kind;
	buf_consume(received, head_len);
	*fd = take_fd(&stream);
	return ERR_OK;
}
