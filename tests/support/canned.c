#include "tests/support/canned.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* The limit for a client to send its whole request. */
#define PATIENCE_MS 60000

static void add_arrived(struct buf *request, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char piece[4096];
	ssize_t len = poll(&p, 1, PATIENCE_MS) > 0 ? read(fd, piece, sizeof piece) : 0;

	if (len > 0)
		buf_add(request, piece, (size_t)len);
	else
		request->failed = true;
}

/* Headers and as much of a body as they announce. */
static bool read_request(int fd, struct buf *request)
{
	const char *end, *length;
	size_t want;

	while (!request->failed && !strstr(buf_text(request), "\r\n\r\n"))
		add_arrived(request, fd);
	if (request->failed)
		return false;
	end = strstr(buf_text(request), "\r\n\r\n") + 4;
	length = strcasestr(buf_text(request), "\r\ncontent-length:");
	want = (size_t)(end - buf_text(request)) +
		(length && length < end ? strtoul(length + 17, NULL, 10) : 0);
	while (!request->failed && request->len < want)
		add_arrived(request, fd);
	return !request->failed;
}

static void write_answer(int fd, const struct canned_row *row)
{
	const char *body = row->body ? row->body : "";
	const char *headers = row->headers ? row->headers : "";
	bool has_type = strcasestr(headers, "Content-Type:");
	AUTO_BUF struct buf answer = BUF_INIT(100000000);

	buf_printf(&answer,
		"HTTP/1.1 %d Canned\r\n%sContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s",
		row->status, has_type ? "" : "Content-Type: application/json\r\n", strlen(body),
		headers, body);
	for (size_t at = 0; row->status && at < answer.len;) {
		ssize_t sent = send(fd, answer.bytes + at, answer.len - at, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		at += (size_t)sent;
	}
}

/* NULL: none is due any more. */
static const struct canned_row *row_at(const struct canned *c, size_t number)
{
	if (number >= c->count && c->count && c->repeats_at_end)
		number = c->count - 1;
	return number < c->count ? &c->rows[number] : NULL;
}

static void serve(struct canned *c, int fd)
{
	static const struct canned_row unwanted = { .status = 418 };
	AUTO_BUF struct buf request = BUF_INIT(1000000);
	const struct canned_row *row = row_at(c, c->got);

	if (!read_request(fd, &request) || c->got == CANNED_REQUESTS_MAX)
		return;
	if (!row || (row->want && strncmp(buf_text(&request), row->want, strlen(row->want)) != 0))
		row = &unwanted;
	c->unwanted += row == &unwanted;
	c->requests[c->got++] = strdup(buf_text(&request));
	poll(NULL, 0, c->delay_ms);
	write_answer(fd, row);
}

static void *run(void *context)
{
	struct canned *c = context;
	struct pollfd p[2] = { { .fd = c->fd, .events = POLLIN },
		{ .fd = c->stop_fd, .events = POLLIN } };

	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		AUTO_CLOSE int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve(c, fd);
	}
	return NULL;
}

void canned_start(struct canned *c, const struct canned_row *rows, size_t count)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;

	*c = (struct canned){ .rows = rows,
		.count = count,
		.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
		.stop_fd = eventfd(0, EFD_CLOEXEC) };
	cr_assert(bind(c->fd, (struct sockaddr *)&address, sizeof address) == 0);
	cr_assert(listen(c->fd, 16) == 0);
	cr_assert(getsockname(c->fd, (struct sockaddr *)&address, &len) == 0);
	snprintf(c->url, sizeof c->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
	cr_assert(pthread_create(&c->thread, NULL, run, c) == 0);
}

static bool is_wanted(const struct canned *c, size_t number)
{
	const struct canned_row *row = row_at(c, number);

	return !row || !row->want || !strncmp(c->requests[number], row->want, strlen(row->want));
}

void canned_stop(struct canned *c)
{
	eventfd_write(c->stop_fd, 1);
	pthread_join(c->thread, NULL);
	close(c->fd);
	close(c->stop_fd);
	for (size_t i = 0; i < c->got; i++)
		cr_expect(is_wanted(c, i), "request %zu is not the one that is due: %s", i,
			c->requests[i]);
	cr_expect(eq(sz, c->unwanted, 0));
	if (c->repeats_at_end)
		cr_expect(ge(sz, c->got, c->count));
	else
		cr_expect(eq(sz, c->got, c->count));
}
