/*
 * disk.h - a directory of this machine that is its user's alone.
 */
#pragma once

#include "providers/base/error.h"

/*
 * Opens `dir` for reading; made with mode 0700 if it is not there, parents as well. ERR_DENIED: others may write to it, or
 * made it: it is not to be trusted with what files hold.
 */
enum err disk_open_own(int *out, const char *dir, struct error *e);

/*
 * Whether `dir`, an absolute path that need not be there yet, may become such a directory: no link
 * and no directory on the way is another user's (root may have made them, or who has "/"), none can
 * be written to by everybody unless it is sticky as /tmp is, and `dir` itself, if it is there, is
 * as above. ERR_DENIED names what is not so.
 */
enum err disk_check_way(const char *dir, struct error *e);

/* errno in the system's words, about `path` on this machine: an error's own are about the sandbox. */
enum err disk_error(const char *path, struct error *e);
