/*
 * tree.h - everything below a directory as text: attributes, contents, links, extended attributes,
 * which names are one.
 */
#pragma once

#include "tests/oracle/outcome.h"

#include <stdatomic.h>

/*
 * Names described so far. The number moves during a long comparison, which so is not taken for a
 * call that hangs.
 */
extern atomic_ulong tree_names_met;

/* One line or more for each name, in the order of names. */
void tree_describe(int dir, const struct stat_rules *rules, struct text *out);

/* Writes the first line in which two such texts differ, from both, to `out`. */
void text_first_difference(const struct text *a, const struct text *b, struct text *out);
