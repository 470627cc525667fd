#include "cache/session/bandwidth.h"

/* Fewer bytes than this may have been waiting in the buffers of this machine. */
#define BYTES_MIN   ((uint64_t)256 * 1024)
#define REST_US_MIN 1000

/* With each measurement the best one before counts an eighth less. */
#define FADES 8

void bandwidth_note(struct bandwidth *b, int64_t first_us, uint64_t bytes, int64_t rest_us)
{
	int64_t round_trip_us = atomic_load(&b->round_trip_us);
	int64_t faded_us = round_trip_us + round_trip_us / FADES;

	/* If two threads measure at the same time one measurement is lost. */
	atomic_store(&b->round_trip_us, round_trip_us && faded_us < first_us ? faded_us : first_us);
	if (bytes < BYTES_MIN || rest_us < REST_US_MIN)
		return;
	int64_t rate = (int64_t)(bytes * 1000000 / (uint64_t)rest_us);
	int64_t best = atomic_load(&b->bytes_per_s), faded = best - best / FADES;

	atomic_store(&b->bytes_per_s, rate > faded ? rate : faded);
}

uint64_t bandwidth_delay_product(struct bandwidth *b, uint64_t least, uint64_t most)
{
	int64_t bytes_per_ms = atomic_load(&b->bytes_per_s) / 1000;
	uint64_t product = (uint64_t)bytes_per_ms * (uint64_t)atomic_load(&b->round_trip_us) / 1000;

	return product < least ? least : product > most ? most : product;
}
