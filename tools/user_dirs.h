/*
 * user_dirs.h - directories of this machine in which the mounting user keeps things for sandboxfs.
 *
 * `asked`: the value of an option, or NULL: as the variables of XDG say, else below the user's home. What is returned is
 * allocated; NULL: nowhere, because of "off" or for want of a home.
 */
#pragma once

#include "providers/provider.h"

/* Contents of files, of all sandboxes. asked: cache=, else $XDG_CACHE_HOME/sandboxfs or ~/.cache/sandboxfs. */
char *user_cache_dir(const char *asked);

/*
 * Changes that this sandbox does not have yet, as paths from the directory that is shown of it: for each of these
 * another directory in that of journal=, else in $XDG_STATE_HOME/sandboxfs or ~/.local/state/sandboxfs.
 */
char *user_journal_dir(const char *asked, const char *provider, const struct sandbox_info *sandbox);
