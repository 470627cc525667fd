/*
 * cancel_join.h - a switch that is thrown when either of two is, for a call that may be given up
 * for two reasons.
 */
#pragma once

#include "providers/base/call.h"

/* Nothing to hold, for AUTO_CANCEL. */
#define CANCEL_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}
#define AUTO_CANCEL __attribute__((cleanup(cancel_release)))

/*
 * `other` may be NULL. Both outlive `out`, which must not be thrown itself. To be released by
 * cancel_release(), also after a failure.
 */
enum err cancel_join(
	struct cancel *out, const struct cancel *one, const struct cancel *other, struct error *e);
