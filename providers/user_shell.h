/*
 * user_shell.h - by which shell a user's command runs in a sandbox, as text for its /bin/sh.
 *
 *      sh      /bin/sh, and no start-up file
 *      bash    bash, which reads ~/.bashrc first
 *      login   bash -l: /etc/profile, then ~/.bash_profile, ~/.bash_login or ~/.profile; ~/.bashrc
 *              where the home has none of the three
 *      auto    login where the vendor's own SDK runs commands so (PROVIDER_LOGIN_SHELL), else bash
 *      /PATH   that program, as PATH -c TEXT
 *
 * Where the sandbox has no bash, /bin/sh does. Scripts of sandboxfs's own are for /bin/sh as they are.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* So long is the text of a command of `len` bytes at most: each may be a quote. */
#define USER_SHELL_MAX(len) (4 * (len) + 4096)

/* Whether `name` is one of the above. */
bool user_shell_is_known(const char *name);

/* What auto is, as a person would write it: "bash -c". `caps` are those of struct provider_ops. */
const char *user_shell_auto(unsigned caps);

/*
 * Adds the text that runs `command` by the shell `name`, NULL: auto. `keeps_dir`: the command begins where
 * the text does, whatever start-up files do; else where they leave it.
 */
void user_shell_add(
	struct buf *out, const char *name, unsigned caps, bool keeps_dir, const char *command);
