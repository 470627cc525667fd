/*
 * descendants.h - all that a process started, and what those started.
 *
 * A process that is a subreaper (prctl(2)) keeps them all: one whose parent ended becomes its own child.
 */
#pragma once

#include <sys/types.h>

/* Sends each of the process's descendants the signal; those that start meanwhile may be missed. */
void descendants_signal(pid_t process, int signal);
