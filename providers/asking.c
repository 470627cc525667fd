#include "providers/asking.h"

#include "providers/http/retry.h"

/* Whether `kind` leaves the request without an answer. */
static bool is_unanswered(enum err kind)
{
	return kind == ERR_UNREACHABLE || kind == ERR_PROTOCOL || kind == ERR_BUSY;
}

/* Failures are no progress, so the limit counts from the first. */
static int64_t left_ms(const struct asking *a)
{
	int64_t most_ms = call_progress_ms(a->call), call_ms = call_left_ms(a->call);
	int64_t limit_ms = a->limit_ms ? a->limit_ms : most_ms < 0 ? CALL_PROGRESS_MS : most_ms;
	int64_t own_ms = a->since_ms + limit_ms - monotonic_ms();

	return own_ms < call_ms ? own_ms : call_ms;
}

bool asking_goes_on(struct asking *a, enum err *kind)
{
	int64_t pause_ms = retry_pause_ms(a->failures, false, -1);

	if (!is_unanswered(*kind) || a->is_answered)
		return false;
	if (!a->failures++)
		a->since_ms = monotonic_ms();
	if (pause_ms >= left_ms(a))
		return false;
	if (call_sleep(a->call, pause_ms, NULL) != ERR_INTERRUPTED)
		return true;
	*kind = ERR_INTERRUPTED;
	return false;
}
