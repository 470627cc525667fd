/*
 * status_text.h - the text of `.sandbox/status`, one object of JSON.
 */
#pragma once

#include "cache/cache.h"
#include "providers/base/buf.h"

/* `source`: the mounted source as given, PROVIDER:ID:PATH. */
void status_text(const char *source, const struct sandbox_info *sandbox,
	const struct cache_status *status, struct buf *out);
