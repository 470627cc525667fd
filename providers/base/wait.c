#include "providers/base/wait.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS   1000

static int64_t less(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

enum err wait_for_state(const struct call *call, int64_t limit_ms, const char *what, wait_look look,
	void *context, struct error *e)
{
	int64_t end_ms = monotonic_ms() + limit_ms, pause_ms = PAUSE_FIRST_MS;
	bool is_done = false;
	enum err kind = look(context, call, &is_done, e);

	while (!kind && !is_done) {
		int64_t left_ms = end_ms - monotonic_ms();

		if (left_ms <= 0)
			return error_set(e, ERR_TIMEOUT, "%s: not done after %lld s", what,
				(long long)limit_ms / 1000);
		kind = call_sleep(call, less(pause_ms, left_ms), e);
		if (!kind)
			kind = look(context, call, &is_done, e);
		pause_ms = less(2 * pause_ms, PAUSE_MAX_MS);
	}
	return kind;
}
