/*
 * bandwidth.h - what the connection to the sandbox carries in one round trip, as fetches show it.
 *
 * This many bytes may come along with an answer: they take no longer than another request would.
 * The shortest wait for a first byte counts as the round trip, with the time that the sandbox needs
 * to begin. The highest rate of the bytes after it counts as the bandwidth. A disturbance can only
 * make a measurement worse. Both values fade, since connections change.
 *
 * Any function may be called from any thread. A `struct bandwidth` of zeroes has no measurement
 * yet.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct bandwidth {
	_Atomic int64_t round_trip_us; /* 0: not known; nor is the next */
	_Atomic int64_t bytes_per_s;
};

/* An answer began `first_us` after its request; `bytes` came in the `rest_us` after that. */
void bandwidth_note(struct bandwidth *b, int64_t first_us, uint64_t bytes, int64_t rest_us);

/* Bytes in a round trip, within these bounds; the lower bound where nothing is known. */
uint64_t bandwidth_delay_product(struct bandwidth *b, uint64_t least, uint64_t most);
