/*
 * jail_root.h - the directory that is / in every jail of a sandbox.
 *
 * The directory holds points for mounts, which bwrap makes, and the links to /usr of this machine.
 * Its inodes stay, so / is the same for all commands and for the helper. The jails show it
 * read-only: no command changes it.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

/* Directories beside /usr with programs of this machine, as "bin"; the last one is NULL. */
extern const char *const jail_system_dirs[];

/* Whether the path is a symbolic link on this machine. */
bool jail_is_link(const char *path);

/* Makes what is missing in the directory `fd`; links are those of this machine now. */
enum err jail_root_make(int fd, struct error *e);
