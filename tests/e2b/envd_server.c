#include "tests/e2b/envd_server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)16 * 1024 * 1024)
/* A limit for a client that still sends. */
#define PATIENCE_MS 60000

struct peer {
	struct envd_server *server;
	int fd;
};

/* ---- Requests ---- */

/* Adds bytes that arrived. False: the client has closed the connection, or the test is over. */
static bool add_arrived(const struct peer *p, struct buf *request)
{
	struct pollfd ready[2] = { { .fd = p->fd, .events = POLLIN },
		{ .fd = p->server->stop_fd, .events = POLLIN } };
	char piece[65536];
	ssize_t len;

	if (poll(ready, 2, PATIENCE_MS) <= 0 || ready[1].revents)
		return false;
	len = read(p->fd, piece, sizeof piece);
	return len > 0 && buf_add(request, piece, (size_t)len);
}

/* Reads the headers and as much of a body as they announce. */
static bool read_request(const struct peer *p, struct buf *request)
{
	const char *end = NULL, *length;
	size_t want = SIZE_MAX;

	while (request->len < want) {
		if (!add_arrived(p, request))
			return false;
		end = end ? end : strstr(buf_text(request), "\r\n\r\n");
		if (!end || want < SIZE_MAX)
			continue;
		length = strcasestr(buf_text(request), "\r\ncontent-length:");
		want = (size_t)(end + 4 - buf_text(request)) +
			(length && length < end ? strtoul(length + 17, NULL, 10) : 0);
	}
	return true;
}

/* Takes the first free row that the request begins as; -1: there is none. */
static int take_row(struct envd_server *s, const struct buf *request)
{
	int found = -1;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; found < 0 && i < s->count; i++)
		if (!s->used[i] &&
			!strncmp(buf_text(request), s->rows[i].want, strlen(s->rows[i].want)))
			found = (int)i;
	if (found >= 0)
		s->used[found] = true;
	else
		s->unwanted++;
	pthread_mutex_unlock(&s->lock);
	return found;
}

static bool has_read_locked(const struct envd_server *s, const char *want)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->read[i] && !strncmp(buf_text(&s->requests[i]), want, strlen(want)))
			return true;
	return false;
}

/* Notes that the row's request is there, and waits for the request in `after`. */
static void wait_for_turn(struct envd_server *s, int row)
{
	struct timespec end;
	int status = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_MS / 1000;
	pthread_mutex_lock(&s->lock);
	s->read[row] = true;
	pthread_cond_broadcast(&s->news);
	while (!status && s->rows[row].after && !has_read_locked(s, s->rows[row].after))
		status = pthread_cond_timedwait(&s->news, &s->lock, &end);
	pthread_mutex_unlock(&s->lock);
}

/* ---- Answers ---- */

static void send_answer(const struct peer *p, const struct envd_row *row)
{
	size_t step = row->by_bytes ? 1 : row->answer->len;

	for (size_t at = 0; at < row->answer->len; at += step)
		if (send(p->fd, row->answer->bytes + at, step, MSG_NOSIGNAL) < 0)
			return;
}

static void pass_gate(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	eventfd_t ignored;

	if (poll(&ready, 1, PATIENCE_MS) > 0)
		eventfd_read(fd, &ignored);
}

static void serve(const struct peer *p)
{
	struct envd_server *s = p->server;
	struct buf request = BUF_INIT(REQUEST_MAX), dropped = BUF_INIT(REQUEST_MAX);
	int row = read_request(p, &request) ? take_row(s, &request) : -1;

	if (row < 0) {
		buf_release(&request);
		return;
	}
	s->requests[row] = request;
	wait_for_turn(s, row);
	if (s->rows[row].answer)
		send_answer(p, &s->rows[row]);
	if (s->rows[row].gate_fd)
		pass_gate(s->rows[row].gate_fd);
	while (s->rows[row].is_held && add_arrived(p, &dropped))
		continue;
	buf_release(&dropped);
}

static void *run_peer(void *context)
{
	struct peer *p = context;

	serve(p);
	close(p->fd);
	free(p);
	return NULL;
}

static void *run(void *context)
{
	struct envd_server *s = context;
	struct pollfd ready[2] = { { .fd = s->fd, .events = POLLIN },
		{ .fd = s->stop_fd, .events = POLLIN } };

	while (poll(ready, 2, -1) > 0 && !ready[1].revents && s->connections < 32) {
		struct peer *p = calloc(1, sizeof *p);

		*p = (struct peer){ s, accept(s->fd, NULL, NULL) };
		pthread_create(&s->peers[s->connections++], NULL, run_peer, p);
	}
	return NULL;
}

/* ---- The server's life ---- */

void envd_server_start(struct envd_server *s, const struct envd_row *rows, size_t count)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;

	*s = (struct envd_server){ .count = count,
		.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
		.stop_fd = eventfd(0, EFD_CLOEXEC),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.news = PTHREAD_COND_INITIALIZER };
	cr_assert(count <= ENVD_ROWS_MAX);
	for (size_t i = 0; i < count; i++)
		s->rows[i] = rows[i];
	cr_assert(bind(s->fd, (struct sockaddr *)&address, sizeof address) == 0);
	cr_assert(listen(s->fd, 16) == 0);
	cr_assert(getsockname(s->fd, (struct sockaddr *)&address, &len) == 0);
	snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
	cr_assert(pthread_create(&s->thread, NULL, run, s) == 0);
}

void envd_server_stop(struct envd_server *s)
{
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	for (int i = 0; i < s->connections; i++)
		pthread_join(s->peers[i], NULL);
	close(s->fd);
	close(s->stop_fd);
}

void envd_server_check(const struct envd_server *s)
{
	for (size_t i = 0; i < s->count; i++)
		cr_expect(s->used[i], "nobody asked for %s", s->rows[i].want);
	cr_expect(eq(int, s->unwanted, 0));
}

void envd_server_release(struct envd_server *s)
{
	for (size_t i = 0; i < s->count; i++)
		buf_release(&s->requests[i]);
}

/* ---- Words ---- */

void put_answer(struct buf *out, int status, const char *headers, const void *body, size_t len)
{
	buf_printf(out,
		"HTTP/1.1 %d Scripted\r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n",
		status, headers, len);
	buf_add(out, body, len);
}

void put_chunked(struct buf *out, const char *headers, const struct buf *body, bool is_ended)
{
	buf_printf(out,
		"HTTP/1.1 200 Scripted\r\n%sConnection: close\r\nTransfer-Encoding: "
		"chunked\r\n\r\n",
		headers);
	for (size_t i = 0; i < body->len; i++) {
		buf_add_string(out, "1\r\n");
		buf_add_byte(out, body->bytes[i]);
		buf_add_string(out, "\r\n");
	}
	if (is_ended)
		buf_add_string(out, "0\r\n\r\n");
}
