/*
 * asking.h - a question that got no answer, asked again with growing pauses.
 *
 * For what may be done any number of times: what somebody in between says instead of the sandbox,
 * and what breaks off or makes no sense, answers nothing. Once a part of an answer was handed on the
 * question is not asked again.
 */
#pragma once

#include "providers/base/call.h"

struct asking {
	const struct call *call; /* may be NULL */
	int64_t limit_ms;        /* since the first failure; 0: as long as the call may last */
	int64_t since_ms;        /* of the first failure; 0: there is none yet */
	unsigned failures;       /* in a row */
	bool is_answered;        /* by the one who asks, when it has begun to hand an answer on */
};

/*
 * Whether it is to be asked again; then the pause is over. *kind is replaced where the call was
 * cancelled meanwhile: ERR_INTERRUPTED.
 */
bool asking_goes_on(struct asking *a, enum err *kind);
