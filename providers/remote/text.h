/*
 * text.h - a program's arguments for vendors that take a line of shell text.
 */
#pragma once

#include "providers/base/buf.h"

/*
 * Adds `argv` (ended by NULL) as one command of a POSIX shell, of zsh and of BusyBox's. The text is
 * printable ASCII whatever the arguments contain, so it passes JSON, UTF-8 and the standard input
 * of a shell unchanged. Redirections, `;` and `&&` may stand around it, but no word before it
 * (`exec`, `env`): it may be an eval. false: no memory, or the ceiling.
 */
bool remote_text_add(struct buf *out, const char *const *argv);
