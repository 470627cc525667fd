/*
 * jail_filter.h - the system calls that a jail does not have.
 *
 * Keyrings are in no namespace: through add_key(2), request_key(2) and keyctl(2) a command could
 * use the keys of the user who mounts. In the jail these calls do not exist (ENOSYS).
 */
#pragma once

#include "providers/base/error.h"

/* Opens a file with the filter program, as bwrap --seccomp reads it. */
enum err jail_filter_open(int *out, struct error *e);
