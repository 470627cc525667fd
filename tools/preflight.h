/*
 * preflight.h - errors that can be found before the mount; each has a remedy.
 */
#pragma once

#include "providers/base/error.h"
#include "tools/config.h"
#include "tools/source.h"

/*
 * Checks the mount point, /dev/fuse, fusermount3, allow_other and the key file. On success
 * *mountpoint is its absolute path, allocated, and config->key_file is absolute too. A lack that
 * only weakens the mount (no bubblewrap) is logged.
 */
enum err preflight(
	struct config *config, const struct source *source, char **mountpoint, struct error *e);
