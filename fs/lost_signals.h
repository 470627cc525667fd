/*
 * lost_signals.h - signals that are sent to a process which is already exiting.
 *
 * Linux drops them (since 6.0 before they are pending), so /proc does not show them. The kernel's
 * tracepoint signal:signal_generate counts them all the same, for root on the machine itself. No
 * other user may see a tracepoint, and in a container its process numbers are not ours: there
 * nothing is watched, and lost_signals_any() is always false.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lost_signals {
	int *counters; /* for each processor a descriptor, or -1; owned */
	size_t count;
};

#define LOST_SIGNALS_NONE ((struct lost_signals){ 0 })

/* Counts these `signals` (bit 0 is signal 1) for the process from now on. */
void lost_signals_begin(struct lost_signals *l, pid_t process, uint64_t signals);
void lost_signals_end(struct lost_signals *l);

/* Whether such a signal was sent since lost_signals_begin(). */
bool lost_signals_any(const struct lost_signals *l);
