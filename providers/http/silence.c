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
/* In halves of the time until a doubt: how long nothing may come once a new one was answered. */
#define PROVED_AFTER 1
/* A large body waits in the buffers of the way long after it has left. */
#define PROVED_AFTER_LARGE 18
/* A probe that has no answer by then proves nothing; another one is begun. */
#define PROBE_MAX_MS 10000

/* ---- A request on a new connection ---- */

struct probe {
	struct transfer transfer;
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
static bool probe_fill(struct probe *p, const struct transfer *doubted)
{
	struct transfer *t = &p->transfer;

	t->method = HTTP_GET;
	t->flags = HTTP_OWN_CONNECTION;
	t->url = url_origin(doubted->url);
	t->shown = t->url ? strdup(t->url) : NULL;
	if (doubted->address)
		p->address = curl_slist_append(NULL, doubted->address->data);
	t->address = p->address;
	return t->shown && (p->address || !doubted->address);
}

static void probe_begin(struct http *h, const struct transfer *doubted, int64_t now_ms)
{
	struct probe *p = calloc(1, sizeof *p);

	if (!p)
		return;
	p->begun_ms = now_ms;
	if (transfer_init(&p->transfer, NULL) || !probe_fill(p, doubted)) {
		probe_free(p, h);
		return;
	}
	log_debug(LOG_HTTP, "%s %s: nothing comes; is a new connection answered?",
		request_method(doubted->method), doubted->shown);
	h->silence.probe = p;
	transfer_start(&p->transfer, h->multi, h, NULL);
}

/* Edges say so of a server that they wait for themselves. */
static bool is_of_server(int status)
{
	return status >= 200 && status < 500 && status != 409 && status != 429;
}

static void probe_serve(struct http *h, int64_t now_ms)
{
	struct silence *s = &h->silence;
	struct probe *p = s->probe;

	if (!p)
		return;
	if (p->transfer.has_fields && is_of_server(p->transfer.outcome.status)) {
		free(s->proved);
		s->proved = strdup(p->transfer.url);
		s->proved_ms = p->begun_ms;
		s->proof_ms = now_ms;
	} else if (now_ms - p->begun_ms < PROBE_MAX_MS) {
		s->look_ms = p->begun_ms + PROBE_MAX_MS;
		return;
	}
	s->probe = NULL;
	probe_free(p, h);
}

/* ---- How long nothing may come ---- */

void silence_init(struct silence *s)
{
	*s = (struct silence){ .least_ms = SILENCE_MIN_MS };
	LIST_INIT(&s->running);
}

void silence_release(struct http *h)
{
	probe_free(take(h->silence.probe), h);
	free(h->silence.proved);
}

static int64_t doubt_after_ms(const struct silence *s)
{
	unsigned count = s->samples < SILENCE_SAMPLES ? s->samples : SILENCE_SAMPLES;
	int64_t least_ms = count ? INT64_MAX / ROUND_TRIPS : 0;

	for (unsigned n = 0; n < count; n++)
		if (s->first_bytes_ms[n] < least_ms)
			least_ms = s->first_bytes_ms[n];
	least_ms *= ROUND_TRIPS;
	return (least_ms > s->least_ms ? least_ms : s->least_ms) << s->mistakes;
}

void silence_sending(struct transfer *t)
{
	long made = 0;

	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &made);
	t->is_kept = made == 0;
	t->is_heard = false;
	t->silent_since_ms = t->sending_ms;
}

/* A doubt was right when a new connection answers where the old one did not. */
static void judge_doubt(struct silence *s, struct transfer *t, int64_t took_ms)
{
	if (!t->was_doubted)
		return;
	t->was_doubted = false;
	if (took_ms < s->least_ms)
		s->mistakes = 0;
	else if (s->mistakes < MISTAKES_MAX)
		s->mistakes++;
}

void silence_heard(struct transfer *t)
{
	struct silence *s = &t->client->silence;
	int64_t took_ms = monotonic_ms() - t->sending_ms;

	if (t->is_heard)
		return;
	t->is_heard = true;
	if (t->body_len >= HTTP_BULK_MIN)
		return;
	s->first_bytes_ms[s->samples++ % SILENCE_SAMPLES] = took_ms;
	judge_doubt(s, t, took_ms);
}

/* ---- Looking ---- */

static bool may_be_doubted(const struct transfer *t)
{
	return t->flags & HTTP_ANSWERS_AT_ONCE && t->is_sent && t->is_kept && !t->is_heard;
}

static bool is_large(const struct transfer *t)
{
	return t->body_len >= HTTP_BULK_MIN;
}

static bool is_proved(const struct silence *s, const struct transfer *t)
{
	return s->proved && s->proved_ms > t->silent_since_ms && url_same_origin(s->proved, t->url);
}

static void give_up(struct http *h, struct transfer *t)
{
	http_drop_connections(h);
	t->was_doubted = true;
	transfer_give_up(t, h->multi, "its connection is dead, and a new one is not");
}

static void look_at(struct http *h, struct transfer *t, int64_t now_ms)
{
	struct silence *s = &h->silence;
	int64_t after_ms = doubt_after_ms(s), due_ms = t->silent_since_ms + after_ms;

	if (now_ms >= due_ms && !is_proved(s, t)) {
		if (!s->probe)
			probe_begin(h, t, now_ms);
		return;
	}
	if (now_ms >= due_ms)
		due_ms = s->proof_ms +
			(is_large(t) ? PROVED_AFTER_LARGE : PROVED_AFTER) * after_ms / 2;
	if (now_ms >= due_ms)
		give_up(h, t);
	else if (due_ms < s->look_ms)
		s->look_ms = due_ms;
}

void silence_serve(struct http *h)
{
	struct silence *s = &h->silence;
	int64_t now_ms = monotonic_ms();
	struct transfer *t = LIST_FIRST(&s->running);

	s->look_ms = INT64_MAX;
	probe_serve(h, now_ms);
	while (t) {
		struct transfer *next = LIST_NEXT(t, running);

		if (may_be_doubted(t))
			look_at(h, t, now_ms);
		t = next;
	}
}
