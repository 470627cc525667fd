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

/* A sandbox where signals are counted; a semaphore says when one came. */
static struct {
	int terms, kills;
	int64_t term_ms, kill_ms;
	uint32_t pid;
	char marker[MARKER_SIZE];
	bool finds_nothing;
	atomic_bool holds; /* signals: they arrive, and are not answered for a minute */
	int came_fd;
} sandbox;

static struct reaper *reaper;
static struct cancel abandon;

static enum err count_signal(void *context, const struct call *call, const char *marker,
	uint32_t pid, int signal, bool *found, struct error *e)
{
	(void)context;
	cr_assert(call->is_background);
	memcpy(sandbox.marker, marker, MARKER_SIZE);
	sandbox.pid = pid;
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
	cr_assert(eq(int, cancel_init(&abandon, NULL), ERR_OK));
	cr_assert(eq(int, reaper_new(&reaper, count_signal, NULL, NULL), ERR_OK));
}

TestSuite(provider_reaper, .init = set_up, .timeout = 300);

static struct quarry *start(int64_t timeout_ms)
{
	struct quarry *q = NULL;
	struct error e = { 0 };

	cr_assert(
		eq(int, reaper_watch(reaper, timeout_ms, &abandon, &q, &e), ERR_OK), "%s", e.text);
	return q;
}

/* Waits for one signal more. */
static void await_signal(void)
{
	struct pollfd p = { .fd = sandbox.came_fd, .events = POLLIN };
	eventfd_t one;

	cr_assert(poll(&p, 1, 60000) == 1, "no signal came");
	eventfd_read(sandbox.came_fd, &one);
}

Test(provider_reaper, markers_are_long_and_never_the_same)
{
	struct quarry *one = start(0), *other = start(0);

	cr_expect(eq(sz, strlen(quarry_marker(one)), 32));
	cr_expect(ne(str, (char *)quarry_marker(one), (char *)quarry_marker(other)));
	quarry_leave(reaper, one, QUARRY_ENDED);
	quarry_leave(reaper, other, QUARRY_ENDED);
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.terms + sandbox.kills, 0));
}

Test(provider_reaper, a_command_that_ends_in_time_gets_no_signal)
{
	cr_expect(not(quarry_leave(reaper, start(60000), QUARRY_ENDED)));
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.terms + sandbox.kills, 0));
}

Test(provider_reaper, at_its_time_a_command_gets_term_then_kill_and_its_stream_is_abandoned)
{
	struct quarry *q = start(100);
	struct pollfd p = { .fd = abandon.fd, .events = POLLIN };

	quarry_set_pid(reaper, q, 77);
	await_signal();
	await_signal();
	cr_expect(poll(&p, 1, 60000) == 1);
	cr_expect(quarry_leave(reaper, q, QUARRY_UNHEARD));
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.terms, 1));
	cr_expect(eq(int, sandbox.kills, 1));
	cr_expect(ge(long, sandbox.kill_ms - sandbox.term_ms, 4990));
	cr_expect(eq(u32, sandbox.pid, 77));
}

Test(provider_reaper, what_a_command_left_at_its_time_is_killed_though_its_stream_ended)
{
	struct quarry *q = start(50);

	await_signal();
	cr_expect(quarry_leave(reaper, q, QUARRY_ENDED));
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 1));
	cr_expect(not(cancel_thrown(&abandon)));
}

Test(provider_reaper, nobody_waits_for_the_end_of_a_cancelled_command)
{
	struct quarry *q = start(0);
	char marker[MARKER_SIZE];

	memcpy(marker, quarry_marker(q), sizeof marker);
	sandbox.holds = true;
	cr_expect(not(quarry_leave(reaper, q, QUARRY_DOOMED)));
	cr_expect(sandbox.holds, "the signal is not answered yet");
	await_signal();
	sandbox.holds = false;
	cr_expect(eq(str, sandbox.marker, marker));
	cr_expect(eq(int, sandbox.terms, 1));
	reaper_free(reaper);
}

Test(provider_reaper, a_cancelled_command_that_is_dead_gets_no_second_signal)
{
	struct quarry *q = start(0);

	sandbox.finds_nothing = true;
	quarry_set_pid(reaper, q, 5);
	quarry_leave(reaper, q, QUARRY_DOOMED);
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 0));
}

Test(provider_reaper, one_whose_start_was_not_heard_is_looked_for_again)
{
	sandbox.finds_nothing = true;
	quarry_leave(reaper, start(0), QUARRY_DOOMED);
	await_signal();
	await_signal();
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 1));
}

/* Letting go takes no longer than the time between the two signals: waiting for that there would be no second one. */
Test(provider_reaper, letting_go_kills_the_doomed_at_once_and_leaves_the_others)
{
	struct quarry *doomed = start(0), *unheard = start(60000);

	quarry_leave(reaper, doomed, QUARRY_DOOMED);
	await_signal();
	quarry_leave(reaper, unheard, QUARRY_UNHEARD);
	reaper_free(reaper);
	cr_expect(eq(int, sandbox.kills, 1));
	cr_expect(eq(int, sandbox.terms, 1));
}

Test(provider_reaper, an_unheard_command_still_has_its_time)
{
	quarry_leave(reaper, start(300), QUARRY_UNHEARD);
	await_signal();
	cr_expect(eq(int, sandbox.terms, 1));
	reaper_free(reaper);
}
