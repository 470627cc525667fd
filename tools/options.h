/*
 * options.h - the table of options: each is a row with its name, what its value may be and its line in --help.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

struct option;

/* Puts `value` into the field of struct config. ERR_INVALID names option and value and says what would do. */
typedef enum err (*option_set)(
	const struct option *o, const char *value, void *field, struct error *e);

struct option {
	const char
		*name; /* with '=' at the end: a value follows; with a blank: the next word is it */
	const char *argument; /* the value's name for people; a choice: its words, '|' between */
	const char *help; /* "": works, not listed; NULL: accepted, and listed as without effect */
	option_set set;   /* NULL: nothing happens */
	size_t offset;    /* of the field in struct config */
	int number;       /* what a flag stores */
};

/* Those of sandboxfs. */
extern const struct option options[];
extern const size_t options_count;

/* Those of umount.fuse.sandboxfs, which reads them by itself (umount.c). */
extern const struct option umount_options[];
extern const size_t umount_options_count;
