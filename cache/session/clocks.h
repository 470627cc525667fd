/*
 * clocks.h - the time that decides how long something is valid, in use or silent. Tests bring
 * clocks of their own, and do not wait.
 *
 * Deadlines of calls and waits go by monotonic_ms() itself. Any function may be called from any
 * thread. With NULL it uses the system's clocks.
 */
#pragma once

#include <stdint.h>

/* In ms; a function that is NULL is the system's clock. */
struct clocks {
	int64_t (*awake_ms)(void *context); /* as CLOCK_MONOTONIC */
	int64_t (*all_ms)(
		void *context); /* as CLOCK_BOOTTIME, which goes on while the machine sleeps */
	void *context;
};

int64_t clocks_awake_ms(const struct clocks *c);
/* How long the machine has slept in all. */
int64_t clocks_slept_ms(const struct clocks *c);
