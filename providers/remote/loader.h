/*
 * loader.h - runs the helper where no file may be executed: a script that copies it into memory and
 * executes it there (memfd_create(2)); internal to providers/remote.
 */
#pragma once

/* Arguments of the script's own program, which the helper's path and arguments follow. */
#define REMOTE_LOADER_ARGC 4

/*
 * The words, ended by NULL; for "" none but that NULL. `name`: "python3", "perl" or "". NULL:
 * another name.
 */
const char *const *remote_loader_find(const char *name);

/* The two scripts: the last of the words of each. */
extern const char remote_loader_python[], remote_loader_perl[];
