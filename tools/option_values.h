/*
 * option_values.h - checks the values of options: the setters for the tables of options (options.h,
 * ctl/command.h).
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

struct opt;

/*
 * Puts `value` into a field. ERR_INVALID names option and value, and the values that are possible.
 */
typedef enum err option_setter(
	const struct opt *o, const char *value, void *field, struct error *e);

struct opt {
	/* with '=' at the end: a value follows; with a blank: the next word is the value */
	const char *name;
	const char *argument; /* the value's name for people; a choice: its words, '|' between */
	const char *help; /* "": works, not listed; NULL: accepted, and listed as without effect */
	option_setter *set; /* NULL: no effect */
	size_t offset;      /* offset of the field in struct config */
	int number;         /* the value that a flag stores */
};

/* The type of the field stands behind each. A text replaces the one before and is allocated. */
option_setter option_set_flag;     /* int */
option_setter option_set_text;     /* char * */
option_setter option_set_dir;      /* char * */
option_setter option_set_file;     /* char *: an absolute path */
option_setter option_set_path;     /* char *: a path of the sandbox, as in a source */
option_setter option_set_log;      /* char * */
option_setter option_set_shell;    /* char *: providers/user_shell.h */
option_setter option_set_seconds;  /* int64_t: ms, of a number that may have a fraction */
option_setter option_set_progress; /* int64_t: ms of a deadline on progress (base/call.h) */
option_setter option_set_threads;  /* int64_t */
option_setter option_set_pids;     /* int64_t */
option_setter option_set_uid;      /* int64_t */
option_setter option_set_gid;      /* int64_t */
option_setter option_set_choice;   /* int */
option_setter option_set_cpus;     /* double */
option_setter option_set_size;     /* int64_t: MiB */
option_setter option_refuse;       /* no value; `help` says why */

/* Lists ended by NULL or 0, to which each value is added, allocated. A word is any text. */
option_setter option_set_word;     /* char ** */
option_setter option_set_variable; /* char **: "NAME=value" */
option_setter option_set_label;    /* char **: "key=value" */
option_setter option_set_allowed;  /* char **: providers/reach.h */
option_setter option_set_port;     /* uint16_t * */

/* Frees a list of words; NULL is allowed. */
void option_list_free(char **list);
