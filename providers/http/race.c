#include "providers/http/race.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/client.h"
#include "providers/http/request.h"

static CURLSH *connections_of(struct http *h, const struct transfer *t)
{
	pthread_mutex_lock(&h->lock);
	const struct connections *newest = h->connections;

	pthread_mutex_unlock(&h->lock);
	return t->is_bulk ? newest->bulk : newest->prompt;
}

static CURL *copy_on_new_connection(const struct http *h, struct transfer *t)
{
	bool was_fresh = t->is_fresh;

	t->is_fresh = true;
	CURL *easy = request_handle(h, t);

	t->is_fresh = was_fresh;
	return easy;
}

void race_begin(struct http *h, struct transfer *t)
{
	t->has_raced = true;
	t->rival = copy_on_new_connection(h, t);
	if (!t->rival)
		return;
	log_debug(LOG_HTTP, "%s %s: nothing comes; it is sent on a new connection as well",
		request_method(t->method), t->shown);
	t->sendings[1] = (struct sending){ .transfer = t };
	transfer_set_callbacks(t->rival, &t->sendings[1]);
	preconnect_lend(t->rival, h);
	curl_easy_setopt(t->rival, CURLOPT_SHARE, connections_of(h, t));
	if (curl_multi_add_handle(h->multi, t->rival))
		curl_easy_cleanup(take(t->rival));
}

static struct http_socket *socket_of(const struct http *h, CURL *easy)
{
	long local_port = 0, peer_port = 0;

	curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &local_port);
	curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &peer_port);
	return socket_find(h, (int)local_port, (int)peer_port);
}

static void win(struct transfer *t, struct sending *s)
{
	CURL *loser = t->easy;

	t->easy = t->rival;
	t->rival = loser;
	t->current = s;
	t->socket = socket_of(t->client, t->easy);
	t->stream = 0;
	t->is_kept = t->is_unprocessed = false;
	t->trial = (struct trial){ 0 };
	t->silent_since_ms = monotonic_ms();
}

bool race_hears(struct sending *s)
{
	struct transfer *t = s->transfer;

	if (s != t->current && !t->is_heard)
		win(t, s);
	return s == t->current;
}

void race_end(struct transfer *t, CURLM *multi)
{
	if (!t->rival)
		return;
	curl_multi_remove_handle(multi, t->rival);
	curl_easy_cleanup(take(t->rival));
}
