/*
 * help.h - what --help prints of a table of options (options.h).
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct opt;

/* The listed ones, a paragraph each. */
void help_print_options(FILE *to, const struct opt *table, size_t count);

/* The names of those without effect. */
void help_print_ignored(FILE *to, const struct opt *table, size_t count);
