/*
 * host.h - what this machine must have so that something can be mounted, each with its way out where it has not.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

/* Whether FUSE's device can be opened. */
enum err host_check_device(struct error *e);
/* Whether the program that mounts for ordinary users is there, and may. */
enum err host_check_fusermount(struct error *e);
/* Whether it can be run: in PATH, or where programs usually are. */
bool host_has_program(const char *name);
