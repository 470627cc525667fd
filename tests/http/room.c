#include "tests/http/room.h"

#include "providers/http/client.h"

#include <unistd.h>

static const struct call patient = { .progress_ms = 60000 };

void room_open(struct room *r, void (*handler)(struct peer *p), void *context)
{
	r->e = (struct error){ 0 };
	cr_assert(eq(int, http_new(&r->http, "test/1", &r->e), ERR_OK), "%s", r->e.text);
	server_start(&r->server, handler, context);
	server_url(&r->server, "/x", r->url);
}

void room_close(struct room *r)
{
	http_free(r->http);
	server_stop(&r->server);
}

struct http_request room_request(const struct room *r, enum http_method method, unsigned flags)
{
	return (struct http_request){ .method = method, .flags = flags, .url = r->url };
}

struct http_exchange *room_begin(struct room *r, const struct http_request *request)
{
	struct http_exchange *x = NULL;

	cr_assert(eq(int, http_begin(r->http, request, &x, &r->e), ERR_OK), "%s", r->e.text);
	return x;
}

enum err room_perform(struct room *r, const struct http_request *request, struct http_answer *out)
{
	return http_perform(r->http, &patient, request, out, &r->e);
}

void answer_ok(struct peer *p)
{
	while (peer_read_request(p) && peer_say(p, OK_ANSWER))
		;
}

void room_await_preconnected(struct http *h, int count)
{
	int ready;

	do {
		usleep(1000);
		pthread_mutex_lock(&h->lock);
		ready = h->preconnects_ready;
		pthread_mutex_unlock(&h->lock);
	} while (ready < count);
}
