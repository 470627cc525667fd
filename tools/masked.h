/*
 * masked.h - output in which secret values do not show.
 *
 *      masked_add(&m, bytes, len, &out)  ...  masked_end(&m, &out)
 *
 * A value that comes in pieces is found, too: the beginning of one is kept back until more comes.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* Shorter values are found everywhere, as in "on" or "dev". */
#define MASKED_LEN_MIN 4

struct masked {
	const char *const
		*values; /* ended by NULL; the caller's; those that are too short are shown */
	struct buf kept; /* what may be the beginning of a value */
};

#define MASKED_INIT(secrets, ceiling)                                                              \
	{                                                                                          \
		.values = (secrets), .kept = BUF_INIT(ceiling)                                     \
	}

/* Adds to `out` what can be shown, with *** for each value. false: no room in one of the two. */
bool masked_add(struct masked *m, const char *bytes, size_t len, struct buf *out);
/* The rest; `m` is released. */
void masked_end(struct masked *m, struct buf *out);
