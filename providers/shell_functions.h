/*
 * shell_functions.h - the shell's half of providers/shell.h: functions in POSIX sh for GNU or BusyBox tools.
 *
 * Their conventions: R and S are the physical paths of the shown root ("" for /) and of staging. A function that fails
 * leaves the reason in E (script_reason() reads it) and returns non-zero. N is the item's name in the present directory,
 * always "./name", N2 a second one. F is stat(1)'s format. Descriptor 3 is the contents that came with the script, 6 is
 * where messages go. Names are only ever the values of variables, in double quotes.
 */
#pragma once

extern const char shell_common_functions[];
extern const char shell_list_functions[];
extern const char shell_show_text[];
extern const char shell_fetch_functions[];
extern const char shell_apply_functions[];
