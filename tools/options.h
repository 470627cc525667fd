/*
 * options.h - the table of options: each is a row with its name, what its value may be and its line in --help.
 */
#pragma once

#include "tools/option_values.h"

/* Those of sandboxfs. */
extern const struct opt options[];
extern const size_t options_count;

/* Those of umount.fuse.sandboxfs, which reads them by itself (umount.c). */
extern const struct opt umount_options[];
extern const size_t umount_options_count;
