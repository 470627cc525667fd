/*
 * last_errors.h - the last errors that a person should see, for `.sandbox/status`.
 *
 * There is no lock: the owner guards the list with a lock of its own.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error that a person should see. */
#define CACHE_ERRORS_KEPT 8
struct cache_error {
	char path[256]; /* the path that the error is about; cut where it is longer */
	char text[sizeof((struct error *)0)->text];
	int64_t age_ms;
};

struct last_errors {
	/* age_ms: the time of the error, by the monotonic clock. */
	struct cache_error ring[CACHE_ERRORS_KEPT];
	uint64_t count; /* the number of errors that were ever added */
};

/*
 * `path`: the path of the error. false: the sandbox is gone, and the error before this one said so.
 */
bool last_errors_add(
	struct last_errors *l, const char *path, const struct error *e, int64_t now_ms);

/* Newest first. Returns the number of errors. */
size_t last_errors_get(
	const struct last_errors *l, int64_t now_ms, struct cache_error out[CACHE_ERRORS_KEPT]);
