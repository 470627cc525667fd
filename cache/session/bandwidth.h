/*
 * bandwidth.h - what the connection to the sandbox carries in one round trip, as fetches show it.
 *
 * So much may come along with what was asked for: it takes no longer than asking again would. The shortest wait for a first
 * byte counts as the round trip, with what the sandbox needs to begin, and the highest rate of the bytes after it as the
 * bandwidth: whatever disturbs a measurement makes it worse. Both fade, for connections change.
 *
 * Any function may be called from any thread. A `struct bandwidth` of zeroes knows nothing yet.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct bandwidth {
	_Atomic int64_t round_trip_us; /* 0: not known; nor the next */
	_Atomic int64_t bytes_per_s;
};

/* An answer began `first_us` after it was asked for; `bytes` came in the `rest_us` after that. */
void bandwidth_note(struct bandwidth *b, int64_t first_us, uint64_t bytes, int64_t rest_us);

/* Bytes in a round trip, within these bounds; the lower one where nothing is known. */
uint64_t bandwidth_delay_product(struct bandwidth *b, uint64_t least, uint64_t most);
