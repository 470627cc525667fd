/* How the I/O thread waits between two turns. */
#include "providers/http/client.h"

#include <sys/select.h>

/* A sleep misses nothing: every ask wakes the thread. */
#define SLEEP_MS 60000
/* A connection or a handshake in the making has turns in which no byte of a request moves. */
#define IDLE_TURNS_MAX 8
/* The most by which a request that begins meanwhile is late. */
#define PAUSE_US 2000

static bool is_idle_turn(struct http *h)
{
	bool has_moved = h->moves != h->moves_seen;

	h->moves_seen = h->moves;
	h->idle_turns = has_moved ? 0 : h->idle_turns + 1;
	return h->idle_turns > IDLE_TURNS_MAX;
}

/*
 * libcurl 7.88 polls for writing while the window of an HTTP/2 stream is full and the socket is
 * writable: its poll returns at once, until the peer continues. Then only the peer's next bytes are
 * worth waiting for. False: no descriptor is wanted for writing and writable now. Descriptors
 * beyond those of select(2) are ignored.
 */
static bool wait_for_reading(struct http *h)
{
	struct timeval at_once = { 0 }, pause = { .tv_usec = PAUSE_US };
	fd_set readable, writable, ignored;
	int max = -1;

	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_ZERO(&ignored);
	if (curl_multi_fdset(h->multi, &readable, &writable, &ignored, &max) || max < 0)
		return false;
	if (select(max + 1, NULL, &writable, NULL, &at_once) <= 0)
		return false;
	select(max + 1, &readable, NULL, NULL, &pause);
	return true;
}

static int sleep_ms(const struct http *h)
{
	int64_t now_ms = monotonic_ms(), look_ms = h->silence.look_ms;

	if (look_ms > now_ms + SLEEP_MS)
		return SLEEP_MS;
	return look_ms > now_ms ? (int)(look_ms - now_ms) : 0;
}

void client_wait(struct http *h)
{
	struct curl_waitfd network = { .fd = h->network_fd, .events = CURL_WAIT_POLLIN };

	h->turns++;
	if (!is_idle_turn(h) || !wait_for_reading(h))
		curl_multi_poll(h->multi, &network, h->network_fd >= 0, sleep_ms(h), NULL);
}
