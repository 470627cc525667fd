/*
 * asking.h - a question without an answer, asked again with growing pauses.
 *
 * For questions that may be asked any number of times. A reply of something between here and the
 * sandbox, a broken reply, or one that makes no sense, is no answer. Once a part of an answer was
 * passed on the question is not asked again.
 */
#pragma once

#include "providers/base/call.h"

struct asking {
	const struct call *call; /* may be NULL */
	/* counted from the first failure; 0: as long as the call may last */
	int64_t limit_ms;
	int64_t since_ms;  /* time of the first failure; 0: none yet */
	unsigned failures; /* in a row */
	bool is_answered;  /* set by the caller when it begins to pass an answer on */
};

/*
 * Whether to ask again; then the pause is over. *kind becomes ERR_INTERRUPTED where the call was
 * cancelled meanwhile.
 */
bool asking_goes_on(struct asking *a, enum err *kind);
