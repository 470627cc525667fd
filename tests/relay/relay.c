#include "tests/relay/relay.h"

#include <arpa/inet.h>

void relay_init(struct relay *r, const struct link *link, in_port_t port, in_port_t server)
{
	*r = (struct relay){ .common = { .link = *link,
				     .server = { .sin_family = AF_INET,
					     .sin_port = htons(server),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } } };
	TAILQ_INIT(&r->connections);
	loop_init(&r->common.loop);
	listener_init(&r->listener, &r->common.loop, port);
}

static void drop(struct relay *r, struct connection *c, enum connection_state why)
{
	TAILQ_REMOVE(&r->connections, c, entry);
	connection_free(c, &r->common, why);
	r->open--;
}

void relay_release(struct relay *r)
{
	while (!TAILQ_EMPTY(&r->connections))
		drop(r, TAILQ_FIRST(&r->connections), CONNECTION_RESET);
	listener_release(&r->listener);
	loop_release(&r->common.loop);
}

/* ---- Faults ---- */

void relay_cut(struct relay *r)
{
	struct connection *c;

	TAILQ_FOREACH(c, &r->connections, entry)
	c->is_cut = true;
}

void relay_refuse(struct relay *r, int64_t until)
{
	listener_refuse(&r->listener);
	r->refusing_until = until;
}

void relay_stall(struct relay *r, int64_t until)
{
	r->stalled_until = until;
}

void relay_ghost(struct relay *r)
{
	struct connection *c;

	TAILQ_FOREACH(c, &r->connections, entry)
	connection_silence(c);
}

void relay_lose(struct relay *r)
{
	struct connection *c;

	TAILQ_FOREACH(c, &r->connections, entry)
	connection_lose(c);
}

/* ---- Moving ---- */

static void drop_what_is_cut(struct relay *r)
{
	struct connection *c = TAILQ_FIRST(&r->connections);

	while (c) {
		struct connection *after = TAILQ_NEXT(c, entry);

		if (c->is_cut)
			drop(r, c, CONNECTION_RESET);
		c = after;
	}
}

static void accept_clients(struct relay *r, int64_t now)
{
	int client;

	while (r->open < CONNECTIONS_MAX && (client = listener_next(&r->listener)) >= 0) {
		struct connection *c = connection_new(&r->common, client, now);

		TAILQ_INSERT_TAIL(&r->connections, c, entry);
		r->open++;
	}
}

/* Each round another connection is first, so that all get the same share of the link. */
static void rotate(struct relay *r)
{
	struct connection *first = TAILQ_FIRST(&r->connections);

	if (!first)
		return;
	TAILQ_REMOVE(&r->connections, first, entry);
	TAILQ_INSERT_TAIL(&r->connections, first, entry);
}

static int64_t advance_connections(struct relay *r, int64_t now)
{
	struct connection *c = TAILQ_FIRST(&r->connections);
	int64_t next = NEVER;

	while (c) {
		struct connection *after = TAILQ_NEXT(c, entry);
		enum connection_state state = connection_advance(c, &r->common, now, &next);

		if (state != CONNECTION_OPEN)
			drop(r, c, state);
		c = after;
	}
	return next;
}

int64_t relay_advance(struct relay *r)
{
	int64_t now = loop_now(), next = NEVER;

	drop_what_is_cut(r);
	if (r->refusing_until <= now)
		listener_accept_again(&r->listener, &r->common.loop);
	if (r->listener.is_refusing)
		next = r->refusing_until;
	if (now < r->stalled_until)
		return earlier(next, r->stalled_until);
	accept_clients(r, now);
	next = earlier(next, advance_connections(r, now));
	rotate(r);
	if (r->listener.is_ready && r->open < CONNECTIONS_MAX)
		return now;
	return next;
}
