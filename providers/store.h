/*
 * store.h - whole files stored with apply, for providers that have no upload of their own.
 *
 * Each file is made (or taken), emptied, filled in pieces of VERB_DATA_MAX and given its mode last. Pieces of many files
 * share a batch; a file that fails leaves the others alone.
 */
#pragma once

#include "providers/provider.h"

enum err store_by_apply(struct provider *p, const struct call *call, const struct store_item *items,
	size_t items_count, struct store_result *results, struct error *e);
