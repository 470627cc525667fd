/*
 * complete.h - completions of the word that the user is typing: for the shells, which call
 *
 *      sandboxctl --complete PROGRAM WORD...
 *
 * with the words up to the cursor; the last is the word being typed. A line is printed for each
 * completion: the word, a tab, its meaning. A word that ends in '=' or ':' goes on. ":files" and
 * ":directories" stand for names that the shell finds by itself, after the last '=' of the word
 * where it has one.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct completion {
	const char *word; /* the beginning that was typed */
	FILE *to;
};

/*
 * argv[0]: the program. Prints nothing where no completion is known or a terminal cannot show it.
 * Waits up to COMPLETE_SECONDS for a list of sandboxes.
 */
#define COMPLETE_SECONDS 2
void complete(int argc, char **argv, FILE *to);

/* ---- Shared by its parts ---- */

/*
 * Prints `before` and `len` bytes of `text`, if they begin with the typed word. `help` may be NULL.
 */
void offer(const struct completion *c, const char *before, const char *text, size_t len,
	const char *help);

/*
 * Offers the values that an option's or a command's ARGUMENT stands for: a choice "a|b", FILE, DIR,
 * PROVIDER, PROVIDER:ID, MOUNT, ...
 */
void offer_argument(const struct completion *c, const char *before, const char *argument);

/* `words`: the words between the program and the one that is typed. */
void complete_mount(const struct completion *c, char **words, size_t count);
void complete_unmount(const struct completion *c, char **words, size_t count);
void complete_command(const struct completion *c, char **words, size_t count);
