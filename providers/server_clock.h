/*
 * server_clock.h - the time by the clock of a service, whose answers name times at which a sandbox
 * or a token ends. The clock of this machine may differ from it by hours, or be set meanwhile.
 *
 * Each answer of the service has its time (the header Date, in whole seconds). The time until the
 * next answer is counted here, including a machine's sleep. Functions may be called from any
 * thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* All zero: no answer has had a time yet. */
struct server_clock {
	/* seconds since 1970 minus seconds since this machine booted; 0: not known */
	_Atomic int64_t ahead_s;
};

/* `date_s`: seconds since 1970, of an answer that came just now; 0: the answer had no time. */
void server_clock_note(struct server_clock *c, int64_t date_s);

/* Seconds since 1970; by the clock of this machine where the service's is not known. */
int64_t server_clock_now_s(const struct server_clock *c);
