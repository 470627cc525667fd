/* A server at a unix socket, and a connection there that becomes a stream. */
#include "providers/base/cleanup.h"
#include "tests/http/room.h"
#include "tests/support/scratch.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

TestSuite(http_socket, .timeout = 300);

#define SWITCHED "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

static const struct call patient = { .progress_ms = 60000 };

/* One connection: it gets the answer, and then its own bytes back. */
struct service {
	struct scratch scratch;
	char path[108];
	int fd;
	pthread_t thread;
	const char *answer;
	unsigned times; /* the answer is sent so often */
	bool closes;    /* the connection ends behind the answer */
	char request[4096];
	struct http *http;
	struct error e;
};

/* A request ends with its headers, or with the brace of its body. */
static void read_request(struct service *s, int fd)
{
	size_t len = 0;

	while (!strstr(s->request, *s->request == 'P' ? "}" : "\r\n\r\n")) {
		ssize_t got = read(fd, s->request + len, sizeof s->request - 1 - len);

		cr_assert(got > 0);
		len += (size_t)got;
	}
}

static void *serve(void *context)
{
	struct service *s = context;
	AUTO_CLOSE int fd = accept(s->fd, NULL, NULL);
	char bytes[100];
	ssize_t got;

	read_request(s, fd);
	for (unsigned i = 0; i < s->times; i++)
		if (send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL) < 0)
			return NULL;
	while (!s->closes && (got = read(fd, bytes, sizeof bytes)) > 0)
		cr_assert(write(fd, bytes, (size_t)got) == got);
	return NULL;
}

static void open_service(struct service *s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	scratch_make(&s->scratch);
	snprintf(s->path, sizeof s->path, "%s/socket", s->scratch.path);
	strcpy(at.sun_path, s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(zero(int, bind(s->fd, (struct sockaddr *)&at, sizeof at)));
	cr_assert(zero(int, listen(s->fd, 1)));
	cr_assert(zero(int, pthread_create(&s->thread, NULL, serve, s)));
	cr_assert(zero(int, http_new(&s->http, "test/1", &s->e)));
	cr_assert(zero(int, http_use_socket(s->http, s->path, &s->e)));
}

static void close_service(struct service *s)
{
	http_free(s->http);
	pthread_join(s->thread, NULL);
	close(s->fd);
	scratch_remove(&s->scratch);
}

static enum err upgrade(struct service *s, int *fd, struct buf *received)
{
	open_service(s);
	errno = EAGAIN; /* a call before left it */
	return http_upgrade(s->http, &patient, "/start", "{\"a\":1}", fd, received, &s->e);
}

/* The upgrade fails so. */
static void refuses(struct service s, enum err kind, const char *words)
{
	AUTO_BUF struct buf received = BUF_INIT(HTTP_WINDOW);
	AUTO_CLOSE int fd = -1;

	cr_expect(eq(int, upgrade(&s, &fd, &received), kind), "%s", s.e.text);
	cr_expect(strstr(s.e.text, words) != NULL, "'%s' is not in: %s", words, s.e.text);
	cr_expect(eq(int, fd, -1));
	close_service(&s);
}

Test(http_socket, a_request_goes_to_the_socket_whatever_its_host_is)
{
	struct service s = { .answer = OK_ANSWER, .times = 1 };
	const struct http_request request = { .method = HTTP_GET,
		.url = "http://localhost:1/there" };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

	open_service(&s);
	cr_assert(
		zero(int, http_perform(s.http, &patient, &request, &answer, &s.e)), "%s", s.e.text);
	cr_expect(eq(str, (char *)buf_text(&answer.body), "ok"));
	cr_expect(zero(int, strncmp(s.request, "GET /there HTTP/1.1\r\n", 21)), "%s", s.request);
	close_service(&s);
}

Test(http_socket, a_stream_begins_behind_the_headers_and_goes_both_ways)
{
	struct service s = { .answer = SWITCHED "first", .times = 1 };
	AUTO_BUF struct buf received = BUF_INIT(HTTP_WINDOW);
	AUTO_CLOSE int fd = -1;
	char bytes[100] = "";

	cr_assert(zero(int, upgrade(&s, &fd, &received)), "%s", s.e.text);
	cr_expect(strstr(s.request, "\r\nUpgrade: tcp\r\n") != NULL, "%s", s.request);
	cr_expect(strstr(s.request, "\r\n\r\n{\"a\":1}") != NULL, "%s", s.request);
	cr_assert(eq(int, (int)send(fd, "again", 5, MSG_NOSIGNAL), 5));
	while (received.len < strlen("firstagain")) {
		cr_assert(zero(int, call_wait_fd(&patient, fd, POLLIN, &s.e)), "%s", s.e.text);
		ssize_t got = recv(fd, bytes, sizeof bytes, 0);

		cr_assert(got > 0);
		buf_add(&received, bytes, (size_t)got);
	}
	cr_expect(eq(str, (char *)buf_text(&received), "firstagain"));
	close(take_fd(&fd));
	close_service(&s);
}

Test(http_socket, another_status_is_a_refusal)
{
	refuses(
		(struct service){
			.answer = "HTTP/1.1 409 Conflict\r\n\r\n", .times = 1, .closes = true },
		ERR_UNREACHABLE, "status 409");
}

Test(http_socket, what_is_not_http_is_no_stream)
{
	refuses((struct service){ .answer = "SSH-2.0-a\r\n\r\n", .times = 1, .closes = true },
		ERR_PROTOCOL, "not HTTP");
}

Test(http_socket, headers_without_an_end_are_given_up)
{
	refuses((struct service){ .answer = "HTTP/1.1 101 UPGRADED\r\n", .times = 100000 },
		ERR_PROTOCOL, "no end of its headers");
}

Test(http_socket, an_answer_that_breaks_off_is_an_error)
{
	refuses((struct service){ .answer = "HTTP/1.1 101 UP", .times = 1, .closes = true },
		ERR_UNREACHABLE, "the connection broke");
}

Test(http_socket, where_nobody_listens_is_nothing)
{
	struct error e = { 0 };
	AUTO_BUF struct buf received = BUF_INIT(HTTP_WINDOW);
	struct http *http;
	int fd = -1;

	cr_assert(zero(int, http_new(&http, "test/1", &e)));
	cr_assert(zero(int, http_use_socket(http, "/proc/none", &e)));
	cr_expect(eq(int, http_upgrade(http, &patient, "/start", "{}", &fd, &received, &e),
		ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "/proc/none: No such file") != NULL, "%s", e.text);
	http_free(http);
}
