/*
 * harmless.h - decides for all of sandboxfs which characters of foreign text a terminal or a log
 * line may get.
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

/* Whether a code point may stand in a line unchanged. */
bool harmless_point(uint32_t point);

/*
 * Whether the character at the beginning of `text`, which has `len` bytes, may stand in a line
 * unchanged. *step: the number of its bytes, or of the bytes that make no character.
 */
bool harmless_next(const unsigned char *text, size_t len, size_t *step);

/* The number of bytes from `text` on, of `len` at most, that stand unchanged. */
size_t harmless_run(const void *text, size_t len);

/* Replaces each harmful character by one '?', and returns the new length: at most `len`. */
size_t harmless_make(char *text, size_t len);

/* As harmless_make(), for a text that ends with NUL. */
void harmless_make_string(char *text);

/*
 * A copy of the sentence, made harmless. A sentence that is too long loses its middle: a sentence
 * begins with a path and ends with the reason.
 */
void harmless_fit(char *out, size_t room, const char *sentence);
