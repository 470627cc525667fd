/*
 * describe.h - prints facts about the programs for their man pages and completions. A line each,
 * with fields apart by tabs, empty ones included. A new line within a field is "\n", two
 * characters:
 *
 *      provider        NAME    TITLE   FOUND-BY        KEYS    OPTIONS-OF-NEW  OPTIONS-OF-ANY
 *                      SLOT=RESULT,...         STREAM  SHELL
 *                      (RESULT: yes, an errno, or why none is needed)
 *      new             PROVIDER NAME   SENTENCE        an option of a new sandbox; empty: taken
 *      variable        PROVIDER NAME   HELP    OTHERWISE       PROVIDER is empty for all of them
 *      command         PROGRAM NAME    ARGUMENTS       SUMMARY         DETAILS
 *      option          PROGRAM COMMAND SPELLINGS       ARGUMENT        HELP
 *                      (a blank between spellings)
 *      mount-option    PROGRAM COMMAND NAME[=]         ARGUMENT        HELP    given as -o NAME
 *      ignored         PROGRAM COMMAND NAME                            accepted, without effect
 *      failure         WORDS   SHOWN   WAY-OUT         with `code`
 */
#pragma once

#include <stdbool.h>

void describe_providers(void);
/* The options that each provider's new sandboxes can have. */
void describe_new(void);

/* The options of sandboxfs and umount.fuse.sandboxfs. */
void describe_options(void);

/* The commands and options of sandboxctl. */
void describe_commands(void);

/*
 * The kinds of errors, and the way out of each. False, with a line on standard error: the table
 * lacks a kind.
 */
bool describe_failures(void);
