/*
 * help.h - the text of --help for a table of options (options.h).
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct opt;

/* The listed options, a paragraph each. */
void help_print_options(FILE *to, const struct opt *table, size_t count);

/* The names of the options without effect. */
void help_print_ignored(FILE *to, const struct opt *table, size_t count);
