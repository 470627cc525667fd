#include "tests/relay/link.h"

/* 8 KiB take 0.7 ms at 100 Mbit/s: that is how much one connection can be ahead of another. */
#define SHARED_CHUNK 8192
#define FREE_CHUNK   65536

/* More than twice what the link itself holds, so that the window never limits the bandwidth. */
#define WINDOW_SPARE     ((size_t)1 << 20)
#define WINDOW_UNLIMITED ((size_t)16 << 20)

static double bytes_per_ns(const struct link *l, enum direction d)
{
	return l->mbit_per_s[d] / 8e3;
}

int64_t link_carry(struct link *l, enum direction d, size_t len, int64_t now)
{
	int64_t start = l->wire_free_at[d] > now ? l->wire_free_at[d] : now;

	if (l->mbit_per_s[d] > 0)
		start += (int64_t)((double)len / bytes_per_ns(l, d));
	else
		start = now;
	l->wire_free_at[d] = start;
	return start + l->delay_ns;
}

int64_t link_admits_at(const struct link *l, enum direction d)
{
	return l->mbit_per_s[d] > 0 ? l->wire_free_at[d] - l->queue_ns : 0;
}

size_t link_chunk(const struct link *l, enum direction d)
{
	return l->mbit_per_s[d] > 0 ? SHARED_CHUNK : FREE_CHUNK;
}

size_t link_window(const struct link *l)
{
	double round_trip_ns = 2.0 * (double)l->delay_ns + (double)l->queue_ns;
	double up = bytes_per_ns(l, TO_SERVER), down = bytes_per_ns(l, TO_CLIENT);

	if (l->window)
		return l->window;
	if (up > 0 && down > 0)
		return (size_t)(2 * (up > down ? up : down) * round_trip_ns) + WINDOW_SPARE;
	return WINDOW_UNLIMITED;
}
