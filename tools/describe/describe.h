/*
 * describe.h - what the programs know of themselves, printed for their man pages and completions. A line each, fields apart by
 * tabs, empty ones included; a new line within a field is "\n", two characters:
 *
 *      provider        NAME    TITLE   FOUND-BY        KEYS    OPTIONS-OF-NEW  OPTIONS-OF-ANY
 *                      SLOT=RESULT,...         STREAM          RESULT: yes, an errno, or why none is needed
 *      new             PROVIDER NAME   SENTENCE        an option of a new sandbox; empty: it takes it
 *      variable        PROVIDER NAME   HELP    OTHERWISE       PROVIDER is empty where it is for all of them
 *      command         PROGRAM NAME    ARGUMENTS       SUMMARY         DETAILS
 *      option          PROGRAM COMMAND SPELLINGS       ARGUMENT        HELP    a blank between spellings
 *      mount-option    PROGRAM COMMAND NAME[=]         ARGUMENT        HELP    given as -o NAME
 *      ignored         PROGRAM COMMAND NAME                                    accepted, without effect
 */
#pragma once

void describe_providers(void);
/* What each provider's new sandboxes take. */
void describe_new(void);

/* Of sandboxfs and umount.fuse.sandboxfs. */
void describe_options(void);

/* Of sandboxctl. */
void describe_commands(void);
