#include "providers/http/preconnect.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/client.h"
#include "providers/http/request.h"
#include "providers/http/url.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection that takes longer saves no round trip. */
#define CONNECT_MAX_MS 5000L

struct preconnect {
	struct preconnect *next;
	char *url;
	CURL *easy; /* NULL: not begun, or over */
	int fd;     /* the connected socket; -1: not yet */
	struct sockaddr_storage peer;
	socklen_t peer_len;
	int64_t since_ms; /* when it was asked for; monotonic */
	uint64_t drops;   /* drops of the client at that time */
};

/* ---- Life of a preconnect ---- */

static void end_easy(struct http *h, struct preconnect *p)
{
	if (!p->easy)
		return;
	curl_multi_remove_handle(h->multi, p->easy);
	curl_easy_cleanup(take(p->easy));
}

static void release(struct http *h, struct preconnect *p)
{
	end_easy(h, p);
	cleanup_close(&p->fd);
	free(p->url);
	free(p);
}

static void release_all(struct http *h, struct preconnect *first)
{
	while (first) {
		struct preconnect *p = first;

		first = p->next;
		release(h, p);
	}
}

void preconnect_drop(struct http *h)
{
	release_all(h, take(h->preconnects));
}

void preconnect_release(struct http *h)
{
	release_all(h, take(h->preconnects));
	release_all(h, take(h->preconnects_asked));
}

/* ---- Asking ---- */

/* Whether the URL goes through a proxy, where a preconnect is useless. */
static bool goes_through_proxy(const char *url)
{
	static const char *const names[] = { "https_proxy", "HTTPS_PROXY", "all_proxy",
		"ALL_PROXY" };

	for (size_t n = 0; n < sizeof names / sizeof *names && !url_is_plain(url); n++)
		if (getenv(names[n]))
			return true;
	return false;
}

void http_preconnect(struct http *h, const char *url)
{
	struct preconnect *p;

	if (http_check_reach(h, url, NULL) || goes_through_proxy(url))
		return;
	p = calloc(1, sizeof *p);
	if (!p)
		return;
	p->fd = -1;
	p->url = url_of_host(url);
	p->since_ms = monotonic_ms();
	if (!p->url) {
		free(p);
		return;
	}
	pthread_mutex_lock(&h->lock);
	p->drops = h->drops;
	p->next = h->preconnects_asked;
	h->preconnects_asked = p;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
}

static struct preconnect *take_asked(struct http *h, uint64_t *drops)
{
	pthread_mutex_lock(&h->lock);
	struct preconnect *asked = take(h->preconnects_asked);

	*drops = h->drops;
	pthread_mutex_unlock(&h->lock);
	return asked;
}

static void begin(struct http *h, struct preconnect *p)
{
	p->easy = curl_easy_init();
	if (!p->easy)
		return;
	curl_easy_setopt(p->easy, CURLOPT_URL, p->url);
	curl_easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(p->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(p->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(p->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MAX_MS);
	curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(p->easy, CURLOPT_QUICK_EXIT, 1L);
	if (curl_multi_add_handle(h->multi, p->easy))
		curl_easy_cleanup(take(p->easy));
}

/*
 * Whether it is too old for a request that must arrive at most once: the same limit as for a kept
 * connection.
 */
static bool is_stale(const struct preconnect *p, uint64_t drops)
{
	return p->drops != drops || (!p->easy && p->fd < 0) ||
		monotonic_ms() - p->since_ms > CONNECTION_IDLE_MAX_S * 1000;
}

static void sweep(struct http *h, uint64_t drops)
{
	struct preconnect **at = &h->preconnects;

	while (*at) {
		struct preconnect *p = *at;

		if (!is_stale(p, drops)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		release(h, p);
	}
}

void preconnect_serve(struct http *h)
{
	uint64_t drops;
	struct preconnect *asked = take_asked(h, &drops);

	while (asked) {
		struct preconnect *p = asked;

		asked = p->next;
		begin(h, p);
		p->next = h->preconnects;
		h->preconnects = p;
	}
	sweep(h, drops);
}

/* ---- Connecting ---- */

static struct preconnect *of_easy(const struct http *h, const CURL *easy)
{
	struct preconnect *p = h->preconnects;

	while (p && p->easy != easy)
		p = p->next;
	return p;
}

/* Keeps a duplicate of the socket: libcurl closes its own descriptor. */
void preconnect_finish(struct http *h, CURL *easy, CURLcode code)
{
	struct preconnect *p = of_easy(h, easy);
	curl_socket_t fd = CURL_SOCKET_BAD;

	if (!p)
		return;
	if (!code && !curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd) && fd != CURL_SOCKET_BAD)
		p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	p->peer_len = sizeof p->peer;
	if (p->fd >= 0 && getpeername(p->fd, (struct sockaddr *)&p->peer, &p->peer_len))
		close(take_fd(&p->fd));
	end_easy(h, p);
	pthread_mutex_lock(&h->lock);
	h->preconnects_ready += p->fd >= 0;
	pthread_mutex_unlock(&h->lock);
	log_debug(LOG_HTTP, "connected beforehand: %s: %s", p->url, curl_easy_strerror(code));
}

/* ---- Handing over ---- */

/* A server that speaks first, or has closed the connection, makes it useless for a request. */
static bool is_silent(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
		(errno == EAGAIN || errno == EWOULDBLOCK);
}

static bool leads_to(const struct preconnect *p, const struct curl_sockaddr *to)
{
	return p->fd >= 0 && p->peer_len == to->addrlen &&
		!memcmp(&p->peer, &to->addr, to->addrlen);
}

/* -1: none. */
static int take_one(struct http *h, const struct curl_sockaddr *to)
{
	struct preconnect **at = &h->preconnects;
	int fd = -1;

	while (*at && fd < 0) {
		struct preconnect *p = *at;

		if (!leads_to(p, to)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (is_silent(p->fd))
			fd = take_fd(&p->fd);
		release(h, p);
	}
	return fd;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct http *h = context;

	h->opened_fd =
		purpose == CURLSOCKTYPE_IPCXN && to->socktype == SOCK_STREAM ? take_one(h, to) : -1;
	return h->opened_fd >= 0 ? h->opened_fd
				 : socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static int on_opened(void *context, curl_socket_t fd, curlsocktype purpose)
{
	struct http *h = context;

	(void)purpose;
	socket_opened(h, fd);
	return fd == h->opened_fd ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

void preconnect_offer(CURL *easy, struct http *h)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, h);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_opened);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, h);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, socket_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, h);
}
