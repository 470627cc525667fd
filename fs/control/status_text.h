/*
 * status_text.h - what `.sandbox/status` says, as one object of JSON.
 */
#pragma once

#include "cache/cache.h"
#include "providers/base/buf.h"

/* `source`: as the mount was asked for it, PROVIDER:ID:PATH. */
void status_text(const char *source, const struct sandbox_info *sandbox,
	const struct cache_status *status, struct buf *out);
