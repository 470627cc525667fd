#include "providers/http/greeting.h"

#include "providers/http/client.h"
#include "providers/http/url.h"

#include <string.h>

bool greeting_is_told(const char *line)
{
	static const char said[] = "Connection state changed (MAX_CONCURRENT_STREAMS";

	return !strncmp(line, said, strlen(said));
}

/* Whether the transfer is a stream if the server speaks HTTP/2. */
static bool may_be_stream(const struct transfer *t)
{
	bool is_alone = t->is_bulk && !(t->flags & HTTP_REQUIRE_2);

	return !url_is_plain(t->url) && !t->is_fresh && !is_alone &&
		!(t->flags & HTTP_OWN_CONNECTION);
}

/* The time until which the connection of `first` may be new; 0: not new. */
static int64_t new_until_ms(const struct http *h, const struct transfer *first)
{
	if (!first->is_sent)
		return INT64_MAX;
	if (first->is_kept || first->is_heard || first->is_greeted || !first->stream)
		return 0;
	return first->sending_ms + h->greeting_max_ms;
}

bool greeting_is_awaited(struct http *h, const struct transfer *t)
{
	const struct transfer *first;
	int64_t until_ms = 0;

	if (!may_be_stream(t))
		return false;
	LIST_FOREACH(first, &h->silence.running, running)
	{
		if (!may_be_stream(first) || first->is_bulk != t->is_bulk ||
			!http_same_origin(first->url, t->url))
			continue;
		/* The server speaks HTTP/1.1: each connection has one request. */
		if (first->is_sent && !first->stream)
			return false;
		int64_t its_ms = new_until_ms(h, first);

		until_ms = its_ms > until_ms ? its_ms : until_ms;
	}
	if (until_ms <= monotonic_ms())
		return false;
	h->greeting_ms = until_ms < h->greeting_ms ? until_ms : h->greeting_ms;
	h->is_awaiting = true;
	return true;
}
