/*
 * loader.h - what runs the helper where no file may be executed: a script that copies it into
 * memory and executes that (memfd_create(2)); internal to remote*.c.
 */
#pragma once

/* Arguments of the script's own program, which the helper's path and arguments follow. */
#define REMOTE_LOADER_ARGC 4

/* Ended by NULL; "" needs none: NULL alone. `name`: "python3", "perl" or "". NULL: another name. */
const char *const *remote_loader_find(const char *name);

/* The scripts of both: the last of their arguments. */
extern const char remote_loader_python[], remote_loader_perl[];
