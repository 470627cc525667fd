/*
 * harmless.h - the one place that decides which characters of foreign text a terminal or a log line
 * may get.
 *
 * Sandboxes, vendors and other users choose names and sentences that people read. Harmful are:
 * control characters (C0, DEL and C1), bytes that are not UTF-8 (a terminal may take a lone 0x9b
 * for a control sequence), marks that change the direction of text, and the separators of lines and
 * paragraphs. Text for people has a '?' for each of them. JSON has an escape instead
 * (providers/json.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a code point may stand in a line as it is. */
bool harmless_point(uint32_t point);

/*
 * Whether what begins at `text`, which has `len` bytes, may stand in a line as it is. *step: the
 * bytes of the character, or of what is none.
 */
bool harmless_next(const unsigned char *text, size_t len, size_t *step);

/* How many bytes from `text` on, which has `len`, stand as they are. */
size_t harmless_run(const void *text, size_t len);

/*
 * Puts one '?' in the place of each harmful character, and returns the length after that: at most
 * `len`.
 */
size_t harmless_make(char *text, size_t len);

/* The same for a text that ends with NUL. */
void harmless_make_string(char *text);

/*
 * A copy of the sentence, made harmless. Of one that is too long the middle goes: a sentence begins
 * with a path and ends with the reason.
 */
void harmless_fit(char *out, size_t room, const char *sentence);
