#include "providers/reaper.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* A sandbox where signals are counted; the semaphore `came_fd` counts them for the test. */
static struct {
	int terms, kills;
	int64_t term_ms, kill_ms;
	unsigned started;
	char marker[MARKER_SIZE];
	bool finds_nothing;
	atomic_bool holds; /* signals: they arrive, and are not answered for a minute */
	int came_fd;
} sandbox;

static struct reaper *reaper;

static enum err count_signal(void *context, const struct call *call, const char *marker,
	unsigned started, int signal, bool *found, struct error *e)
{
	(void)context;
	cr_assert(call->is_background);
	memcpy(sandbox.marker, marker, MARKER_SIZE);
	sandbox.started = started;
	sandbox.terms += signal == SIGTERM;
	sandbox.kills += signal == SIGKILL;
	*(signal == SIGTERM ? &sandbox.term_ms : &sandbox.kill_ms) = monotonic_ms();
	*found = !sandbox.finds_nothing;
	eventfd_write(sandbox.came_fd, 1);
	for (int64_t end_ms = monotonic_ms() + 60000; sandbox.holds && monotonic_ms() < end_ms;)
		poll(NULL, 0, 1);
	return sandbox.holds ? error_set(e, ERR_TIMEOUT, "held for too long") : ERR_OK;
}

static void set_up(void)
{
	sandbox.came_fd = eventfd(0, EFD_SEMAPHORE);
	cr_assert(eq(int, reaper_new(&reaper, count_signal, NULL, NULL), ERR_OK));
}

TestSuite(reaper, .init = set_up, .timeout = 300);

static void mark(char marker[MARKER_SIZE])
{
	struct error e = { 0 };

	cr_assert(eq(int, reaper_mark(reaper, marker, &e), ERR_OK), "%s", e.text);
}

/* Waits for one signal more. */
static void await_signal(void)
{
	struct pollfd p = { .fd = sandbox.came_fd, .events = POLLIN };
	eventfd_t one;

	cr_assert(poll(&p, 1, 60000) == 1, "no signal came");
	eventfd_read(sandbox.came_fd, &one);
}

Test(reaper, markers_are_long_and_never_the_same)
{
	char one[MARKER_SIZE], other[MARKER_SIZE];

	mark(one);
	mark(other);
	cr_expect(eq(sz, strlen(one), 32));
	cr_expect(ne(str, one, other));
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.terms + sandbox.kills, 0));
}

Test(reaper, a_command_gets_term_then_kill_after_five_seconds)
{
	char marker[MARKER_SIZE];

	mark(marker);
	reaper_end(reaper, marker, 2);
	await_signal();
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.terms, 1));
	cr_expect(eq(int, sandbox.kills, 1));
	cr_expect(ge(long, sandbox.kill_ms - sandbox.term_ms, 4990));
	cr_expect(eq(uint, sandbox.started, 2));
}

Test(reaper, nobody_waits_for_the_end_of_a_command)
{
	char marker[MARKER_SIZE];

	mark(marker);
	sandbox.holds = true;
	reaper_end(reaper, marker, 1);
	cr_expect(sandbox.holds, "the signal is not answered yet");
	await_signal();
	sandbox.holds = false;
	cr_expect(eq(str, sandbox.marker, marker));
	cr_expect(eq(int, sandbox.terms, 1));
	reaper_free(reaper);
}

Test(reaper, a_command_that_began_and_is_dead_gets_no_second_signal)
{
	char marker[MARKER_SIZE];

	mark(marker);
	sandbox.finds_nothing = true;
	reaper_end(reaper, marker, 1);
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 0));
}

Test(reaper, a_command_whose_start_is_not_known_is_looked_for_again)
{
	char marker[MARKER_SIZE];

	mark(marker);
	sandbox.finds_nothing = true;
	reaper_end(reaper, marker, 0);
	await_signal();
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 1));
}

/*
 * Letting go takes no longer than the time between the two signals: waiting for that there would be
 * no second one.
 */
Test(reaper, letting_go_kills_the_doomed_at_once)
{
	char marker[MARKER_SIZE];

	mark(marker);
	reaper_end(reaper, marker, 1);
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 1));
	cr_expect(eq(int, sandbox.terms, 1));
}
