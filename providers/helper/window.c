#include "providers/helper/window.h"

/* A quarter of a second at 2 Mbit/s. */
#define SIZE_MIN ((uint64_t)64 * 1024)
/* Until the way is known: the first answer of some size saves two round trips. */
#define SIZE_FIRST (4 * SIZE_MIN)
/* The bytes of 13 ms at 10 Gbit/s, and of 1.3 s at 100 Mbit/s. */
#define SIZE_MAX_BYTES ((uint64_t)16 * 1024 * 1024)
/* The bytes between two marks, but for the last: the marks reach for the largest window. */
#define MARK_BYTES (SIZE_MAX_BYTES / WINDOW_MARKS)
/* The wait on the way that is wanted, besides the shortest time. */
#define QUEUE_MS 150

/* The number of times in a row that show a longer way, and no passing stall. */
#define SLOW_MAX 4

void window_init(struct window *w)
{
	*w = (struct window){ .size = SIZE_FIRST, .least_ms = -1 };
}

void window_note_sent(struct window *w, size_t bytes, int64_t now_ms)
{
	struct window_mark *last = &w->marks[(w->first + w->count - 1) % WINDOW_MARKS];
	uint64_t marked = w->count ? last->end : w->received;

	w->sent += bytes;
	if (w->sent - marked < MARK_BYTES || w->count == WINDOW_MARKS)
		return;
	w->marks[(w->first + w->count++) % WINDOW_MARKS] =
		(struct window_mark){ .end = w->sent, .at_ms = now_ms };
}

static uint64_t limited(uint64_t size, uint64_t min, uint64_t max)
{
	return size < min ? min : size > max ? max : size;
}

/*
 * The time is that of a full window, so the size that has the wanted time is in proportion. While
 * no queue was seen the size says nothing, and is doubled. A window that was half empty does not
 * say whether a larger one would serve.
 */
static void set_size(struct window *w, int64_t took_ms, bool was_used)
{
	uint64_t wanted_ms = (uint64_t)(w->least_ms + QUEUE_MS);
	uint64_t took = took_ms > 0 ? (uint64_t)took_ms : 1;
	uint64_t size = w->size * wanted_ms / took;

	w->is_known |= took > wanted_ms;
	if (!w->is_known)
		size = 2 * w->size;
	size = limited(size, w->size / 2, 2 * w->size);
	if (size < w->size || was_used)
		w->size = limited(size, SIZE_MIN, SIZE_MAX_BYTES);
}

/*
 * The time of the least window has no queue of our own: the way has become longer, or others fill
 * it.
 */
static void learn_way(struct window *w, int64_t took_ms)
{
	if (w->size > SIZE_MIN || took_ms <= w->least_ms + QUEUE_MS) {
		w->slow_count = 0;
		return;
	}
	if (!w->slow_count || took_ms < w->slow_ms)
		w->slow_ms = took_ms;
	if (++w->slow_count < SLOW_MAX)
		return;
	w->least_ms = w->slow_ms;
	w->slow_count = 0;
}

bool window_note_received(struct window *w, uint64_t bytes, int64_t now_ms)
{
	bool was_used = w->sent - w->received >= w->size / 2;

	if (bytes > w->sent - w->received)
		return false;
	w->received += bytes;
	for (; w->count && w->marks[w->first].end <= w->received; w->count--) {
		const struct window_mark *m = &w->marks[w->first];
		int64_t took_ms = now_ms - m->at_ms;

		if (w->least_ms < 0 || took_ms < w->least_ms)
			w->least_ms = took_ms;
		if (m->end >= w->next) {
			learn_way(w, took_ms);
			set_size(w, took_ms, was_used);
			w->next = w->sent + 1;
		}
		w->first = (w->first + 1) % WINDOW_MARKS;
	}
	return true;
}

bool window_has_room(const struct window *w)
{
	return w->sent - w->received < w->size;
}
