/*
 * window.h - TCP's slow start for one direction of a connection: how much may be sent before it is
 * acknowledged.
 *
 * The window begins at ten segments (RFC 6928), grows by what is acknowledged (RFC 5681), and
 * begins again after an idle time (RFC 5681, 4.1). There is no loss, so it never shrinks otherwise.
 */
#pragma once

#include "tests/relay/link.h"

/* The most acknowledgements under way that are kept apart; later ones are counted with the last. */
#define ACKS_MAX 256

struct window {
	size_t size, unacknowledged;
	int64_t last_sent_at;
	unsigned first, count;
	struct ack {
		int64_t at;
		size_t len;
	} acks[ACKS_MAX];
};

void window_init(struct window *w);

/* `len` bytes were sent, which arrive at `arrival`; their acknowledgement is here a delay later. */
void window_sent(struct window *w, const struct link *l, size_t len, int64_t now, int64_t arrival);

/* How many bytes may be sent now. */
size_t window_room(struct window *w, const struct link *l, int64_t now);

/* When the next acknowledgement comes, or NEVER. */
int64_t window_opens_at(const struct window *w);
