/*
 * values.h - what the values of options may be: the setters of option_values.h for parsers of argp, whose headers have a
 * `struct option` of their own.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

enum value_kind {
	VALUE_SECONDS,  /* int64_t: milliseconds; a number of seconds, which may have a fraction */
	VALUE_PROGRESS, /* int64_t: the same of a deadline on progress (base/call.h); 0 is none */
	VALUE_SIZE,     /* int64_t: MiB; "512M" */
	VALUE_PORT,     /* uint16_t *, ended by 0: added, allocated */
	VALUE_CPUS,     /* double */
	VALUE_TEXT,     /* char *, allocated; not empty */
	VALUE_VARIABLE, /* char **, ended by NULL: "NAME=value" is added, allocated */
	VALUE_LABEL,    /* char **, likewise: "key=value" */
	VALUE_WORD,     /* char **, likewise: anything */
	VALUE_FLAG,     /* int: 1 */
};

/* An option of a command. */
struct value {
	int key;          /* argp's */
	const char *name; /* as the user knows it, for messages: "--timeout=" */
	enum value_kind kind;
	size_t offset; /* of the field in the parser's input */
};

/* ERR_INVALID names option and value and says what would do. */
enum err value_set(const struct value *v, const char *value, void *field, struct error *e);

/* Frees a list; NULL is allowed. */
void value_list_free(char **list);
