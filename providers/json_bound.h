/*
 * json_bound.h - how much memory the values of a JSON text would take, before any of it is taken.
 *
 * A text of 12 MB can hold 4 million empty objects, which take 3 GB as json-c has them. The sender
 * of a text must not choose our memory use: a text whose values would take more is not read at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Beside the text itself and its strings. An answer of a vendor has some thousand values, each
 * of which takes some hundred bytes.
 */
#define JSON_VALUES_MAX ((size_t)48 * 1024 * 1024)

/* Whether json-c needs no more than that for what stands in the text, whether it is JSON or not. */
bool json_is_bounded(const char *text, size_t len);
