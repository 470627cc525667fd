/*
 * labels.h - finding a sandbox by its labels.
 */
#pragma once

#include "providers/provider.h"

#include <stdbool.h>

/* `wanted`: "key=value", or "key" for all its values; ended by NULL, as are those of `entry`. */
bool labels_match(const struct sandbox_entry *entry, const char *const *wanted);

/* ERR_UNSUPPORTED: labels are wanted, and `provider` reports none. */
enum err labels_check(const char *provider, const struct sandbox_entry *entry,
	const char *const *wanted, struct error *e);
