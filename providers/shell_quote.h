/*
 * shell_quote.h - words of a POSIX shell in single quotes, where only the quote itself has a
 * meaning.
 */
#pragma once

#include "providers/base/buf.h"

/* `'argument'` */
void shell_quote(struct buf *out, const char *argument);
/* ` 'argument'` */
void shell_argument(struct buf *out, const char *argument);
