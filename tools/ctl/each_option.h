/*
 * each_option.h - the options of a command, its own and those that it shares, one by one: for documentation and completion.
 */
#pragma once

#include "tools/ctl/command.h"

typedef void (*option_visitor)(void *context, const struct argp_option *option);

/* Those that --help shows, in its order, but --help itself. One that is an alias (OPTION_ALIAS) follows what it is another name of. */
void ctl_each_option(const struct ctl_command *command, option_visitor visit, void *context);

/* Its letter; 0: it has none. */
char option_letter(const struct argp_option *option);
