/*
 * option_values.h - what the value of an option may be: the setters of the tables of options (options.h, ctl/command.h).
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

struct opt;

/* Puts `value` into a field. ERR_INVALID names option and value and says what would do. */
typedef enum err option_setter(
	const struct opt *o, const char *value, void *field, struct error *e);

struct opt {
	const char
		*name; /* with '=' at the end: a value follows; with a blank: the next word is it */
	const char *argument; /* the value's name for people; a choice: its words, '|' between */
	const char *help; /* "": works, not listed; NULL: accepted, and listed as without effect */
	option_setter *set; /* NULL: nothing happens */
	size_t offset;      /* of the field in struct config */
	int number;         /* what a flag stores */
};

/* Each has the type of its field behind it. A text replaces the one before and is allocated. */
option_setter option_set_flag;     /* int */
option_setter option_set_text;     /* char * */
option_setter option_set_dir;      /* char * */
option_setter option_set_file;     /* char *: an absolute path */
option_setter option_set_path;     /* char *: of the sandbox, as a source has it */
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
option_setter option_refuse;       /* none; `help` says why */

/* A list ended by NULL or 0, to which each value is added, allocated. A word is any text. */
option_setter option_set_word;     /* char ** */
option_setter option_set_variable; /* char **: "NAME=value" */
option_setter option_set_label;    /* char **: "key=value" */
option_setter option_set_allowed;  /* char **: providers/reach.h */
option_setter option_set_port;     /* uint16_t * */

/* Frees a list of words; NULL is allowed. */
void option_list_free(char **list);
