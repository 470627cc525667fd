/*
 * descendants.h - all descendants of a process.
 *
 * A process that is a subreaper (prctl(2)) keeps all its descendants: one whose parent ended
 * becomes its child.
 */
#pragma once

#include <sys/types.h>

/*
 * Sends the signal to each descendant of the process; a process that starts meanwhile may be
 * missed.
 */
void descendants_signal(pid_t process, int signal);
