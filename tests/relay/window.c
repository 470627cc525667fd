#include "tests/relay/window.h"

#include "tests/relay/loop.h"

/* 1500 bytes of Ethernet less the headers of IP and TCP with timestamps. */
#define SEGMENT        1448
#define INITIAL_WINDOW ((size_t)10 * SEGMENT)
/*
 * Idle for a retransmission timeout: Linux's least, 200 ms, and what it adds for variance, above
 * the round trip.
 */
#define IDLE_NS 250000000

void window_init(struct window *w)
{
	*w = (struct window){ .size = INITIAL_WINDOW };
}

void window_sent(struct window *w, const struct link *l, size_t len, int64_t now, int64_t arrival)
{
	struct ack *ack;

	if (w->count < ACKS_MAX)
		w->acks[(w->first + w->count++) % ACKS_MAX].len = 0;
	ack = &w->acks[(w->first + w->count - 1) % ACKS_MAX];
	ack->at = arrival + l->delay_ns;
	ack->len += len;
	w->unacknowledged += len;
	w->last_sent_at = now;
}

static void take_acks(struct window *w, size_t limit, int64_t now)
{
	while (w->count && w->acks[w->first].at <= now) {
		size_t len = w->acks[w->first].len;

		w->unacknowledged -= len;
		w->size = w->size + len < limit ? w->size + len : limit;
		w->first = (w->first + 1) % ACKS_MAX;
		w->count--;
	}
}

size_t window_room(struct window *w, const struct link *l, int64_t now)
{
	take_acks(w, link_window(l), now);
	if (!w->unacknowledged && now - w->last_sent_at > IDLE_NS + 2 * l->delay_ns)
		w->size = INITIAL_WINDOW;
	return w->size > w->unacknowledged ? w->size - w->unacknowledged : 0;
}

int64_t window_opens_at(const struct window *w)
{
	return w->count ? w->acks[w->first].at : NEVER;
}
