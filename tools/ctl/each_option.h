/*
 * each_option.h - the options of a command, its own and the shared ones, one by one: for
 * documentation and completion.
 */
#pragma once

#include "tools/ctl/command.h"

typedef void (*option_visitor)(void *context, const struct argp_option *option);

/*
 * The options that --help shows, in its order, without --help itself. An alias (OPTION_ALIAS)
 * follows the option that it stands for.
 */
void ctl_each_option(const struct ctl_command *command, option_visitor visit, void *context);

/* The option's letter; 0: none. */
char option_letter(const struct argp_option *option);
