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

/* The directory of all journals. asked: journal=, else $XDG_STATE_HOME/sandboxfs or ~/.local/state/sandboxfs. */
char *user_journals_dir(const char *asked);

/*
 * Changes that this sandbox does not have yet, as paths from the directory that is shown of it: for each of these
 * another directory in user_journals_dir().
 */
char *user_journal_dir(const char *asked, const char *provider, const struct sandbox_info *sandbox);

/*
 * The reverse, of the last part of such a path: "PROVIDER:ID:/DIRECTORY", allocated. What it was renamed to when it could
 * not be read is left out. NULL: it is too long to be told, or no such name.
 */
char *user_journal_source(const char *name);
