/*
 * secrecy.h - what other processes of the same user, and a core on the disk, may learn of a process
 * that holds a key.
 */
#pragma once

#include <stdbool.h>

/*
 * Takes keys out of the environment (providers/variables.h). Unless `is_debugged`, other processes
 * can neither trace this one nor read its memory, its environment and its descriptors in /proc
 * (PR_SET_DUMPABLE), but for root's, and no core of it is written. -d keeps a debugger's way in: a
 * developer asks for it, and it stays in the foreground. Programs that are started are dumpable
 * again. Before threads and children start.
 */
void secrecy_begin(bool is_debugged);
