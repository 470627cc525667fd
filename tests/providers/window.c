/*
 * The window over links of many kinds, on a virtual clock: it keeps the link busy, and what waits on
 * the way is a fraction of a second.
 */
#include "providers/helper/window.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(window, .timeout = 60);

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define PIECES_MAX   200000
/* The beginning looks for the speed: on a slow satellite it fills the queue once. */
#define WARM_MS 10000

static const struct link {
	const char *name;
	double bytes_per_ms, trip_ms;
} links[] = {
	{ "1 Mbit/s, 30 ms", 125, 30 },
	{ "2 Mbit/s, 100 ms", 250, 100 },
	{ "10 Mbit/s, 600 ms", 1250, 600 },
	{ "100 Mbit/s, 40 ms", 12500, 40 },
	{ "1 Gbit/s, 1 ms", 125000, 1 },
};

/* A link of one queue: bytes leave one after the other, and a report comes a round trip later. */
static struct {
	struct window w;
	double free_ms; /* when the queue is empty */
	struct piece {
		uint32_t bytes;
		double due_ms;
	} pieces[PIECES_MAX];
	size_t first, count;
	uint64_t received;
	double longest_ms; /* the longest wait in the queue */
} sim;

static void send(const struct link *l, uint32_t bytes, int64_t now_ms)
{
	double begin_ms = sim.free_ms > (double)now_ms ? sim.free_ms : (double)now_ms;

	window_note_sent(&sim.w, bytes, now_ms);
	sim.free_ms = begin_ms + bytes / l->bytes_per_ms;
	if (sim.free_ms - (double)now_ms > sim.longest_ms)
		sim.longest_ms = sim.free_ms - (double)now_ms;
	cr_assert(sim.first + sim.count < PIECES_MAX);
	sim.pieces[sim.first + sim.count++] = (struct piece){ bytes, sim.free_ms + l->trip_ms };
}

static void receive(int64_t now_ms)
{
	for (; sim.count && sim.pieces[sim.first].due_ms <= (double)now_ms;
		sim.first++, sim.count--) {
		sim.received += sim.pieces[sim.first].bytes;
		cr_assert(window_note_received(&sim.w, sim.pieces[sim.first].bytes, now_ms));
	}
}

/* Sends all the time, in writes of at most 64 KiB. */
static void run(const struct link *l, int64_t from_ms, int64_t to_ms)
{
	for (int64_t ms = from_ms; ms < to_ms; ms++) {
		receive(ms);
		for (int n = 0; n < 64 && window_has_room(&sim.w); n++)
			send(l, 65536, ms);
	}
}

Test(window, a_link_is_busy_and_its_queue_is_short)
{
	for (size_t i = 0; i < COUNT(links); i++) {
		const struct link *l = &links[i];

		sim = (typeof(sim)){ 0 };
		window_init(&sim.w);
		run(l, 0, WARM_MS);
		sim.received = 0;
		sim.longest_ms = 0;
		run(l, WARM_MS, WARM_MS + 10000);

		double share = (double)sim.received / l->bytes_per_ms / 10000;

		cr_expect(ge(dbl, share, 0.9), "%s: %.3f", l->name, share);
		/* A full window of the least size: two writes of 64 KiB. */
		cr_expect(sim.longest_ms <= 300 + 2 * 65536 / l->bytes_per_ms, "%s: %lld ms",
			l->name, (long long)sim.longest_ms);
	}
}

/* A stall of a second, as a link has it, costs no more than the next seconds. */
Test(window, a_stall_is_made_up_for)
{
	const struct link *l = &links[3];

	sim = (typeof(sim)){ 0 };
	window_init(&sim.w);
	run(l, 0, 5000);
	sim.free_ms += 1000;
	run(l, 5000, 8000);
	sim.received = 0;
	run(l, 8000, 10000);
	cr_expect(ge(dbl, (double)sim.received / l->bytes_per_ms / 2000, 0.9));
}

/* Another network, and a connection that lives on over it. */
Test(window, a_way_that_becomes_longer_is_learnt)
{
	const struct link longer = { "100 Mbit/s, 300 ms", 12500, 300 };

	sim = (typeof(sim)){ 0 };
	window_init(&sim.w);
	run(&links[3], 0, 5000);
	run(&longer, 5000, 20000);
	sim.received = 0;
	run(&longer, 20000, 25000);
	cr_expect(ge(dbl, (double)sim.received / longer.bytes_per_ms / 5000, 0.9));
}

Test(window, more_than_was_sent_is_refused)
{
	struct window w;

	window_init(&w);
	window_note_sent(&w, 1000, 1);
	cr_expect(window_note_received(&w, 1000, 2));
	cr_expect(not(window_note_received(&w, 1, 2)));
}

/* Small requests alone say nothing about the link: the window stays as it is. */
Test(window, a_window_that_is_not_used_does_not_grow)
{
	struct window w;

	window_init(&w);
	for (int64_t ms = 0; ms < 100000; ms++) {
		window_note_sent(&w, 1000, ms);
		cr_assert(window_note_received(&w, 1000, ms));
	}
	cr_expect(eq(u64, w.size, 262144), "as much as at first");
}
