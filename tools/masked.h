/*
 * masked.h - output with secret values masked.
 *
 *      masked_add(&m, bytes, len, &out)  ...  masked_end(&m, &out)
 *
 * A value that comes in pieces is found, too: a beginning of a value is kept back until more comes.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* Shorter values, such as "on" or "dev", would be found everywhere. */
#define MASKED_LEN_MIN 4

struct masked {
	/* ended by NULL; the caller's; values that are too short are shown */
	const char *const *values;
	struct buf kept; /* bytes that may be the beginning of a value */
};

#define MASKED_INIT(secrets, ceiling)                                                              \
	{                                                                                          \
		.values = (secrets), .kept = BUF_INIT(ceiling)                                     \
	}

/*
 * Adds to `out` the bytes that can be shown, with *** for each value. false: no room in one of the
 * two.
 */
bool masked_add(struct masked *m, const char *bytes, size_t len, struct buf *out);
/* Adds the rest; `m` is released. */
void masked_end(struct masked *m, struct buf *out);
