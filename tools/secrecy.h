/*
 * secrecy.h - keeps the keys of a process from other processes of the same user, and from a core on
 * the disk.
 */
#pragma once

#include <stdbool.h>

/*
 * Takes keys out of the environment (providers/variables.h). Unless `is_debugged`, processes other
 * than root's can neither trace this one nor read its memory, its environment and its descriptors
 * in /proc (PR_SET_DUMPABLE), and no core of it is written. -d keeps a debugger's access: a
 * developer asks for it, and the process stays in the foreground. Programs that are started are
 * dumpable again. To be called before threads and children start.
 */
void secrecy_begin(bool is_debugged);
