/*
 * jail_filter.h - which system calls a jail is without.
 *
 * Keyrings are in no namespace: through add_key(2), request_key(2) and keyctl(2) a command would see and use the keys of the
 * user who mounts. For the jail these calls do not exist (ENOSYS).
 */
#pragma once

#include "providers/base/error.h"

/* A file with the program, as bwrap --seccomp reads it. */
enum err jail_filter_open(int *out, struct error *e);
