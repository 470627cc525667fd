/*
 * options.h - the table of options: a row for each, with its name, its setter and its line in
 * --help.
 */
#pragma once

#include "tools/option_values.h"

/* The options of sandboxfs. */
extern const struct opt options[];
extern const size_t options_count;

/* The options of umount.fuse.sandboxfs, which reads them by itself (umount.c). */
extern const struct opt umount_options[];
extern const size_t umount_options_count;
