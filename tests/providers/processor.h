/* processor.h - programs for another processor than this machine's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The qemu-user that runs programs for `machine` (as uname -m says it) here; "": they run as they are.
 * False: there is none.
 */
bool processor_find_runner(const char *machine, char *out, size_t size);
