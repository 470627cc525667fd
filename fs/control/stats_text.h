/*
 * stats_text.h - the cache's counts in the text format that Prometheus reads.
 *
 * Version 0.0.4 of that format (its documentation, "Exposition formats"). Each metric has a line of
 * help, one of its type, and its samples, in base units. Names follow the format's rules: a
 * counter's name ends in _total, and units stand before that.
 */
#pragma once

#include "cache/cache.h"
#include "cache/session/stats.h"
#include "providers/base/buf.h"

void stats_text(const struct stats *stats, const struct cache_status *status, struct buf *out);
