/*
 * user_dirs.h - directories of this machine in which the mounting user keeps files for sandboxfs.
 *
 * `asked`: the value of an option. NULL: the directory of the XDG variables, otherwise below the
 * user's home. The result is allocated; NULL: no directory, because of "off" or without a home.
 */
#pragma once

#include "providers/provider.h"

/*
 * Contents of files, of all sandboxes. `asked`: cache=. NULL: sandboxfs in $XDG_CACHE_HOME or in
 * ~/.cache.
 */
char *user_cache_dir(const char *asked);

/*
 * The directory of all journals. `asked`: journal=. NULL: sandboxfs in $XDG_STATE_HOME or in
 * ~/.local/state.
 */
char *user_journals_dir(const char *asked);

/*
 * The directory for the pending changes of this sandbox: in user_journals_dir(), one for each
 * sandbox and shown directory, since changes have paths below that directory, and for each user
 * that a mount chose, since changes are made as that user.
 */
char *user_journal_dir(const char *asked, const char *provider, const struct sandbox_info *sandbox);

/*
 * The reverse, for the last part of such a path: "PROVIDER:ID:/DIRECTORY", with " as USER" where a
 * mount chose one, allocated. The suffix of a journal that was renamed because it could not be read
 * is left out. NULL: too long to be decoded, or no such name.
 */
char *user_journal_source(const char *name);
