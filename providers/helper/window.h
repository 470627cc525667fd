/*
 * window.h - how many bytes may be on their way to the other end of a stream.
 *
 * Megabytes of a large message, held by ssh, a proxy and the kernel, would be in front of all that
 * follows: a link of 2 Mbit/s needs half a minute for them. The other end reports what it received.
 * Once a round trip the window is set to what keeps the link busy with a queue of QUEUE_MS, by the
 * time from a sending to its report.
 *
 * Not locked: its owner's lock guards it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_MARKS 1024

struct window {
	uint64_t sent, received; /* bytes since the beginning */
	uint64_t size;
	int64_t least_ms; /* the shortest time from a sending to its report; -1: none yet */
	uint64_t next;    /* the report of this byte of the stream sets the size again */
	bool is_known;    /* a queue was seen: the size is no longer doubled */
	/* the times of a window of the least size that were too long, one after the other */
	unsigned slow_count;
	int64_t slow_ms; /* the shortest of them */
	/* the times of sending, oldest first; a ring */
	struct window_mark {
		uint64_t end; /* bytes sent, just then */
		int64_t at_ms;
	} marks[WINDOW_MARKS];
	size_t first, count;
};

void window_init(struct window *w);
/* `now_ms`: of the monotonic clock. */
void window_note_sent(struct window *w, size_t bytes, int64_t now_ms);
/* false: more than was sent. */
bool window_note_received(struct window *w, uint64_t bytes, int64_t now_ms);
bool window_has_room(const struct window *w);
