/*
 * descendants.h - all that a process started, and what those started.
 *
 * A process that is a subreaper (prctl(2)) keeps them all: one whose parent ended becomes its own child.
 */
#pragma once

/* Sends each of this process's descendants the signal; those that start meanwhile may be missed. */
void descendants_signal(int signal);
