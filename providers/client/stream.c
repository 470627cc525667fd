/* Requests to a helper that serves, over the link to it. */
#include "providers/base/cleanup.h"
#include "providers/client/link.h"
#include "providers/client/transport.h"

struct stream_transport {
	struct helper_transport base;
	struct helper_link *link;
};

static enum err receive(struct exchange *x, const struct call *call,
	const struct listener *listener, struct error *e)
{
	for (;;) {
		AUTO_FREE struct arrival *a = NULL;
		enum err kind = exchange_next(x, call, &a, e);
		struct buf in;

		if (kind != ERR_OK)
			return kind;
		in = (struct buf){ .bytes = a->bytes, .len = a->len, .max = a->len };
		if (a->type == FRAME_END)
			return listener_take_end(listener, &in, e);
		kind = listener_take_items(listener, &in, e);
		if (kind != ERR_OK)
			return kind;
	}
}

static enum err ask(struct helper_transport *t, const struct call *call, enum frame_type type,
	struct buf *payload, const struct listener *listener, struct error *e)
{
	struct stream_transport *s = (struct stream_transport *)t;
	struct exchange x;
	enum err kind = exchange_begin(&x, s->link, type, payload, e);

	if (kind != ERR_OK)
		return kind;
	kind = receive(&x, call, listener, e);
	exchange_end(&x);
	return kind;
}

static bool is_broken(const struct helper_transport *t)
{
	return helper_link_is_broken(((const struct stream_transport *)t)->link);
}

static int64_t received_ms(const struct helper_transport *t)
{
	return helper_link_received_ms(((const struct stream_transport *)t)->link);
}

static void stream_free(struct helper_transport *t)
{
	struct stream_transport *s = (struct stream_transport *)t;

	helper_link_free(s->link);
	free(s);
}

enum err helper_stream_new(
	struct helper_transport **out, int to_fd, int from_fd, bool costs_requests, struct error *e)
{
	struct stream_transport *s;
	struct helper_link *link;
	enum err kind = helper_link_new(&link, to_fd, from_fd, costs_requests, e);

	if (kind != ERR_OK)
		return kind;
	s = malloc(sizeof *s);
	if (!s) {
		helper_link_free(link);
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	}
	*s = (struct stream_transport){ { ask, is_broken, received_ms, stream_free }, link };
	*out = &s->base;
	return ERR_OK;
}
