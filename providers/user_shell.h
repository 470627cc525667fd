/*
 * user_shell.h - the shell that runs a user's command in a sandbox, as text for its /bin/sh.
 *
 *      sh      /bin/sh, and no start-up file
 *      bash    bash, which reads ~/.bashrc first
 *      login   bash -l: /etc/profile, then ~/.bash_profile, ~/.bash_login or ~/.profile; ~/.bashrc
 *              where the home has none of the three
 *      auto    login where the vendor's SDK uses a login shell (PROVIDER_LOGIN_SHELL), else bash
 *      /PATH   that program, as PATH -c TEXT
 *
 * A sandbox without bash uses /bin/sh. Scripts of sandboxfs's own run in /bin/sh directly.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* The longest text of a command of `len` bytes: each byte may be a quote. */
#define USER_SHELL_MAX(len) (4 * (len) + 4096)

/* Whether `name` is a word of that list. */
bool user_shell_is_known(const char *name);

/*
 * The shell of auto, as a person would write it: "bash -c". `caps` are those of struct
 * provider_ops.
 */
const char *user_shell_auto(unsigned caps);

/*
 * Adds the text that runs `command` by the shell `name`, NULL: auto. `keeps_dir`: the command
 * begins in the directory of the text, whatever start-up files do; otherwise where they leave it.
 */
void user_shell_add(
	struct buf *out, const char *name, unsigned caps, bool keeps_dir, const char *command);
