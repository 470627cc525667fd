/*
 * complete.h - what may stand in place of the word that somebody is typing: for the shells, which call
 *
 *      sandboxctl --complete PROGRAM WORD...
 *
 * with the words before the cursor, the last being the one that is typed. A line for each that begins like it: the word, a
 * tab, what it means. One that ends in '=' or ':' goes on. ":files" and ":directories" stand for what the shell finds by
 * itself, after the last '=' of the word where it has one.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct completion {
	const char *word; /* so far */
	FILE *to;
};

/*
 * argv[0]: the program. Says nothing where nothing is known or a terminal cannot show it; waits
 * COMPLETE_SECONDS at most for a list of sandboxes.
 */
#define COMPLETE_SECONDS 2
void complete(int argc, char **argv, FILE *to);

/* ---- What its parts share ---- */

/* Prints `before` and `text` of that length, if what was typed is the beginning of it. `help` may be NULL. */
void offer(const struct completion *c, const char *before, const char *text, size_t len,
	const char *help);

/* What an option's or a command's ARGUMENT says: a choice "a|b", FILE, DIR, PROVIDER, PROVIDER:ID, MOUNT, ... */
void offer_argument(const struct completion *c, const char *before, const char *argument);

/* `words`: those between the program and the one that is typed. */
void complete_mount(const struct completion *c, char **words, size_t count);
void complete_unmount(const struct completion *c, char **words, size_t count);
void complete_command(const struct completion *c, char **words, size_t count);
