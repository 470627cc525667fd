/*
 * host.h - requirements of this machine for a mount; each error has a remedy.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

/* Whether FUSE's device can be opened. */
enum err host_check_device(struct error *e);
/* Whether the program that mounts for ordinary users is there, and may mount. */
enum err host_check_fusermount(struct error *e);
/* Whether the program can be run: in PATH, or in the usual directories of programs. */
bool host_has_program(const char *name);
