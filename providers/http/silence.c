#include "providers/http/silence.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/client.h"
#include "providers/http/request.h"
#include "providers/http/url.h"

#include <stdlib.h>
#include <string.h>

#define ROUND_TRIPS  4
#define MISTAKES_MAX 4
/*
 * The time that may pass without a byte after a new connection was answered, in halves of the time
 * until a check.
 */
#define PROVED_AFTER 1
/* A large body waits in the buffers of the way long after it has left. */
#define PROVED_AFTER_LARGE 18
/* A probe that has no answer by then proves nothing; another one is begun. */
#define PROBE_MAX_MS 10000
/*
 * The intervals, in ms, of asking the kernel for acknowledgements: normal, for streams, and for a
 * suspect.
 */
#define LOOK_MS           1000
#define LOOK_STREAM_MS    15000
#define LOOK_SUSPECTED_MS 100

/* ---- A request on a new connection ---- */

struct probe {
	struct transfer transfer;
	enum proof_kind kind;
	struct curl_slist *address;
	int64_t begun_ms;
};

static void probe_free(struct probe *p, struct http *h)
{
	if (!p)
		return;
	transfer_stop(&p->transfer, h->multi);
	transfer_release(&p->transfer);
	curl_slist_free_all(p->address);
	free(p);
}

/* False: no memory. */
static bool probe_fill(struct probe *p, const struct transfer *suspect)
{
	struct transfer *t = &p->transfer;

	t->method = HTTP_GET;
	t->only_connects = p->kind == PROOF_CONNECTED;
	t->url = url_origin(suspect->url);
	t->shown = t->url ? strdup(t->url) : NULL;
	if (suspect->address)
		p->address = curl_slist_append(NULL, suspect->address->data);
	t->address = p->address;
	return t->shown && (p->address || !suspect->address);
}

/* NULL: no memory, or no descriptor. */
static struct probe *probe_new(
	struct http *h, const struct transfer *suspect, enum proof_kind kind, unsigned flags)
{
	struct probe *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->begun_ms = monotonic_ms();
	p->kind = kind;
	p->transfer.flags = flags;
	if (!transfer_init(&p->transfer, NULL) && probe_fill(p, suspect))
		return p;
	probe_free(p, h);
	return NULL;
}

/* Does nothing while a probe runs. */
static void probe_begin(struct http *h, const struct transfer *suspect, enum proof_kind kind)
{
	struct probe *p =
		h->silence.probe ? NULL : probe_new(h, suspect, kind, HTTP_OWN_CONNECTION);

	if (!p)
		return;
	log_debug(LOG_HTTP, "%s %s: nothing comes; %s?", request_method(suspect->method),
		suspect->shown,
		kind == PROOF_CONNECTED ? "does a new connection stand"
					: "is a new connection answered");
	h->silence.probe = p;
	/* A preconnect may be as dead as the suspected connection, and would prove nothing. */
	preconnect_drop(h);
	transfer_start(&p->transfer, h->multi, h, NULL);
}

/*
 * Whether the status is the server's: edges send the others for a server that they wait for
 * themselves.
 */
static bool is_of_server(int status)
{
	return status >= 200 && status < 500 && status != 409 && status != 429;
}

static bool probe_succeeded(const struct probe *p)
{
	const struct transfer *t = &p->transfer;

	if (p->kind == PROOF_CONNECTED)
		return t->is_over && t->outcome.failure.kind == ERR_OK;
	return t->has_fields && is_of_server(t->outcome.status);
}

static void probe_serve(struct http *h, int64_t now_ms)
{
	struct silence *s = &h->silence;
	struct probe *p = s->probe;

	if (!p)
		return;
	if (probe_succeeded(p)) {
		struct proof *proof = &s->proofs[p->kind];

		free(proof->url);
		*proof = (struct proof){ strdup(p->transfer.url), p->begun_ms, now_ms };
	} else if (now_ms - p->begun_ms < PROBE_MAX_MS) {
		s->look_ms = p->begun_ms + PROBE_MAX_MS;
		return;
	}
	s->probe = NULL;
	probe_free(p, h);
}

/* Whether the proof was begun after `since_ms`. */
static bool is_proved(const struct proof *proof, const struct transfer *t, int64_t since_ms)
{
	return proof->url && proof->begun_ms > since_ms && http_same_origin(proof->url, t->url);
}

/* ---- The time that may pass without a byte ---- */

void silence_init(struct silence *s)
{
	*s = (struct silence){ .least_ms = SILENCE_MIN_MS };
	LIST_INIT(&s->running);
}

void silence_release(struct http *h)
{
	probe_free(take(h->silence.probe), h);
	probe_free(take(h->silence.ping), h);
	for (size_t n = 0; n < PROOF_KINDS; n++)
		free(h->silence.proofs[n].url);
}

static int64_t round_trips_ms(const struct silence *s)
{
	unsigned count = s->samples < SILENCE_SAMPLES ? s->samples : SILENCE_SAMPLES;
	int64_t least_ms = count ? INT64_MAX / ROUND_TRIPS : 0;

	for (unsigned n = 0; n < count; n++)
		if (s->first_bytes_ms[n] < least_ms)
			least_ms = s->first_bytes_ms[n];
	least_ms *= ROUND_TRIPS;
	return least_ms > s->least_ms ? least_ms : s->least_ms;
}

static int64_t suspect_after_ms(const struct silence *s)
{
	return round_trips_ms(s) << s->mistakes;
}

void silence_sending(struct transfer *t)
{
	long made = 0;

	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &made);
	t->is_kept = made == 0;
	t->has_received = false;
	t->silent_since_ms = t->received_ms = t->sending_ms;
}

/* A suspicion was right when a new connection answers where the old one did not. */
static void rate_suspicion(struct silence *s, struct transfer *t, int64_t took_ms)
{
	if (!t->was_suspected)
		return;
	t->was_suspected = false;
	if (took_ms < s->least_ms)
		s->mistakes = 0;
	else if (s->mistakes < MISTAKES_MAX)
		s->mistakes++;
}

void silence_received(struct transfer *t)
{
	struct silence *s = &t->client->silence;
	int64_t took_ms = monotonic_ms() - t->sending_ms;

	if (t->has_received)
		return;
	t->has_received = true;
	if (t->body_len >= HTTP_BULK_MIN)
		return;
	s->first_bytes_ms[s->samples++ % SILENCE_SAMPLES] = took_ms;
	rate_suspicion(s, t, took_ms);
}

/* ---- Checking ---- */

static void look_by(struct silence *s, int64_t ms)
{
	if (ms < s->look_ms)
		s->look_ms = ms;
}

static bool lasts(const struct transfer *t)
{
	return t->flags & HTTP_OWN_CONNECTION;
}

/* Keepalive probes seldom again if no other transfer waits on the connection. */
void silence_ended(struct transfer *t)
{
	struct http_socket *socket = take(t->socket);
	struct transfer *other;

	if (!socket)
		return;
	LIST_FOREACH(other, &t->client->silence.running, running)
	if (other->socket == socket)
		return;
	socket_probe_seldom(socket);
}

static bool is_probe(const struct http *h, const struct transfer *t)
{
	return h->silence.probe && t == &h->silence.probe->transfer;
}

static bool is_of_same_kind(const struct transfer *t, const struct transfer *dead)
{
	return lasts(t) && t->received_ms <= dead->silent_since_ms &&
		http_same_origin(t->url, dead->url);
}

/*
 * Condemns all transfers on the same connection, and streams to the same origin that received
 * nothing since.
 */
static void condemn(struct http *h, struct transfer *dead)
{
	struct transfer *t;

	dead->is_condemned = true;
	LIST_FOREACH(t, &h->silence.running, running)
	{
		if (is_probe(h, t) || !t->socket)
			continue;
		if (t->socket == dead->socket || is_of_same_kind(t, dead))
			t->is_condemned = true;
		else if (http_same_origin(t->url, dead->url))
			socket_probe_often(t->socket);
	}
}

static void give_up_condemned(struct http *h)
{
	struct transfer *t = LIST_FIRST(&h->silence.running);

	while (t) {
		struct transfer *next = LIST_NEXT(t, running);

		if (t->is_condemned)
			transfer_give_up(
				t, h->multi, "its connection is dead, and a new one is not");
		t = next;
	}
}

/* Connections made since the first of its age was found dead are taken to live. */
static void drop_its_age(struct http *h, const struct transfer *dead)
{
	pthread_mutex_lock(&h->lock);
	bool is_dropped = h->drops != dead->drops;

	pthread_mutex_unlock(&h->lock);
	if (!is_dropped)
		http_drop_connections(h);
}

static void give_up(struct http *h, struct transfer *t)
{
	drop_its_age(h, t);
	condemn(h, t);
}

/* ---- A kernel that acknowledges nothing ---- */

/* How long data or a probe has waited for an acknowledgement; 0: nothing waits. */
static int64_t unacknowledged_ms(
	const struct transfer *t, const struct peer_state *peer, int64_t now_ms)
{
	int64_t since_ms = now_ms - t->silent_since_ms;

	if (!peer->has_unacked || !peer->tries)
		return 0;
	if (!peer->has_unacked_data)
		return peer->quiet_ms - t->socket->probed_after_ms;
	return peer->quiet_ms < since_ms ? peer->quiet_ms : since_ms;
}

/* Called while a new connection stands. True: the old one is dead. */
static bool try_on(struct transfer *t, const struct peer_state *peer, int64_t proved_ms,
	int64_t after_ms, int64_t now_ms)
{
	struct trial *trial = &t->trial;

	if (trial->proved_ms != proved_ms)
		*trial = (struct trial){ proved_ms, peer->tries, 0 };
	if (!trial->due_ms && peer->tries > trial->tries)
		trial->due_ms = now_ms + after_ms / 2;
	return trial->due_ms && now_ms >= trial->due_ms;
}

static void suspect_connection(struct http *h, struct transfer *t, const struct peer_state *peer,
	int64_t after_ms, int64_t now_ms)
{
	struct silence *s = &h->silence;
	const struct proof *proof = &s->proofs[PROOF_CONNECTED];

	look_by(s, now_ms + LOOK_SUSPECTED_MS);
	if (!is_proved(proof, t, now_ms - peer->quiet_ms))
		probe_begin(h, t, PROOF_CONNECTED);
	else if (try_on(t, peer, proof->proved_ms, after_ms, now_ms))
		give_up(h, t);
}

/* False: the peer's kernel is well, as far as is known. */
static bool look_at_connection(struct http *h, struct transfer *t, int64_t now_ms)
{
	int64_t after_ms = round_trips_ms(&h->silence);
	struct peer_state peer;

	if (!t->is_sent || !t->socket || !socket_peer(t->socket, &peer))
		return false;
	if (now_ms - t->silent_since_ms < after_ms) {
		look_by(&h->silence, t->silent_since_ms + after_ms);
		return false;
	}
	if (!lasts(t))
		socket_probe_often(t->socket);
	look_by(&h->silence,
		now_ms + (t->socket->probed_after_ms > LOOK_MS ? LOOK_STREAM_MS : LOOK_MS));
	if (unacknowledged_ms(t, &peer, now_ms) < after_ms)
		return false;
	suspect_connection(h, t, &peer, after_ms, now_ms);
	return true;
}

/* ---- A server that sends nothing ---- */

static bool may_be_suspected(const struct transfer *t)
{
	return t->flags & HTTP_ANSWERS_AT_ONCE && t->is_sent && t->is_kept && !t->has_received;
}

static bool is_large(const struct transfer *t)
{
	return t->body_len >= HTTP_BULK_MIN;
}

static void look_at_server(struct http *h, struct transfer *t, int64_t now_ms)
{
	struct silence *s = &h->silence;
	const struct proof *proof = &s->proofs[PROOF_ANSWERED];
	int64_t after_ms = suspect_after_ms(s), due_ms = t->silent_since_ms + after_ms;

	if (now_ms >= due_ms && !is_proved(proof, t, t->silent_since_ms)) {
		probe_begin(h, t, PROOF_ANSWERED);
		return;
	}
	if (now_ms >= due_ms)
		due_ms = proof->proved_ms +
			(is_large(t) ? PROVED_AFTER_LARGE : PROVED_AFTER) * after_ms / 2;
	if (now_ms < due_ms) {
		look_by(s, due_ms);
		return;
	}
	t->was_suspected = true;
	give_up(h, t);
}

/* ---- A server whose answer may take long ---- */

/* 64 times the first pause. */
#define DOUBLINGS_MAX 6

static void send_ping(struct http *h, struct transfer *t)
{
	const unsigned flags = HTTP_ANSWERS_AT_ONCE | (t->flags & HTTP_REQUIRE_2);
	struct probe *p = probe_new(h, t, PROOF_ANSWERED, flags);
	CURLSH *connections;

	if (!p)
		return;
	t->pings++;
	p->transfer.drops = t->drops;
	h->silence.ping = p;
	pthread_mutex_lock(&h->lock);
	connections = h->connections->prompt;
	pthread_mutex_unlock(&h->lock);
	transfer_start(&p->transfer, h->multi, h, connections);
}

/* On a connection for what is large a ping waits behind that in the buffers of the way. */
static bool may_be_pinged(struct http *h, const struct transfer *t)
{
	pthread_mutex_lock(&h->lock);
	bool is_of_age = t->drops == h->drops;

	pthread_mutex_unlock(&h->lock);
	return is_of_age && t->stream && t->is_sent && !t->has_received && !lasts(t) &&
		!t->is_bulk && !(t->flags & HTTP_ANSWERS_AT_ONCE);
}

static void look_by_ping(struct http *h, struct transfer *t, int64_t now_ms)
{
	unsigned doublings = t->pings < DOUBLINGS_MAX ? t->pings : DOUBLINGS_MAX;
	int64_t due_ms = t->silent_since_ms + (round_trips_ms(&h->silence) << doublings);

	if (now_ms < due_ms)
		look_by(&h->silence, due_ms);
	else if (!h->silence.ping)
		send_ping(h, t);
}

/* An answer is all that is wanted, whatever it says. */
static void ping_serve(struct http *h)
{
	const struct probe *p = h->silence.ping;

	if (p && (p->transfer.has_fields || p->transfer.is_over))
		probe_free(take(h->silence.ping), h);
}

/* ---- All transfers ---- */

static void look_at(struct http *h, struct transfer *t, int64_t now_ms)
{
	if (t->is_condemned || is_probe(h, t) || look_at_connection(h, t, now_ms))
		return;
	if (may_be_suspected(t))
		look_at_server(h, t, now_ms);
	else if (may_be_pinged(h, t))
		look_by_ping(h, t, now_ms);
}

void silence_serve(struct http *h)
{
	struct silence *s = &h->silence;
	int64_t now_ms = monotonic_ms();
	struct transfer *t;

	s->look_ms = INT64_MAX;
	probe_serve(h, now_ms);
	ping_serve(h);
	LIST_FOREACH(t, &s->running, running)
	look_at(h, t, now_ms);
	give_up_condemned(h);
}
