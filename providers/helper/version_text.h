/*
 * version_text.h - a version as the text "=SIZE MTIME CTIME", in seconds, in the record of a
 * journal (sequence.h).
 */
#pragma once

#include "providers/verbs.h"

#define VERSION_TEXT_MAX 96

void version_write(const struct version *v, char out[VERSION_TEXT_MAX]);
/*
 * Returns the text behind the version. NULL: the text is no version, and *out is all zero.
 * Fractions have nine digits, as stat(1) writes them.
 */
const char *version_read(const char *text, struct version *out);
