/* version_text.h - a version as text, as the record of a journal has it (sequence.h): "=SIZE MTIME CTIME", in seconds. */
#pragma once

#include "providers/verbs.h"

#define VERSION_TEXT_MAX 96

void version_write(const struct version *v, char out[VERSION_TEXT_MAX]);
/* false: it is none. Fractions have nine digits, as stat(1) writes them. */
bool version_read(const char *text, struct version *out);
