/*
 * last_errors.h - the last errors that a person should hear of, for `.sandbox/status`.
 *
 * No lock of its own: whoever keeps them has one.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error that a person should hear of. */
#define CACHE_ERRORS_KEPT 8
struct cache_error {
	char path[256]; /* what it is about; cut where it is longer */
	char text[sizeof((struct error *)0)->text];
	int64_t age_ms;
};

struct last_errors {
	struct cache_error ring[CACHE_ERRORS_KEPT]; /* age_ms: when, by the monotonic clock */
	uint64_t count;                             /* of all that were ever added */
};

/* `path`: what it is about. false: the sandbox is gone, and the one before said so. */
bool last_errors_add(
	struct last_errors *l, const char *path, const struct error *e, int64_t now_ms);

/* Newest first. Returns how many. */
size_t last_errors_get(
	const struct last_errors *l, int64_t now_ms, struct cache_error out[CACHE_ERRORS_KEPT]);
