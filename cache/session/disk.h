/*
 * disk.h - a directory of this machine that is its user's alone.
 */
#pragma once

#include "providers/base/error.h"

/*
 * Opens `dir` for reading. A missing directory is made with mode 0700, and its parents as well.
 * ERR_DENIED: other users may write to it, or made it, so it is not safe for what files hold.
 */
enum err disk_open_own(int *out, const char *dir, struct error *e);

/*
 * Whether `dir`, an absolute path that need not exist yet, may become such a directory. No link and
 * no directory on the way may be another user's (root may have made them, or the owner of "/").
 * None may be writable by everybody unless it is sticky as /tmp is. `dir` itself, if it exists,
 * must be as above. ERR_DENIED names what is not so.
 */
enum err disk_check_way(const char *dir, struct error *e);

/*
 * errno in the system's words, about `path` on this machine: an error's own words are about the
 * sandbox.
 */
enum err disk_error(const char *path, struct error *e);
