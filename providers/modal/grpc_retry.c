#include "providers/modal/grpc.h"

#include <limits.h>
#include <poll.h>

enum err grpc_pause(const struct call *call, int64_t ms, struct error *e)
{
	struct pollfd p = { .fd = call && call->cancel ? call->cancel->fd : -1, .events = POLLIN };

	if (poll(&p, 1, ms > INT_MAX ? INT_MAX : (int)ms) > 0)
		return error_set(e, ERR_INTERRUPTED, "modal: interrupted");
	return ERR_OK;
}

bool grpc_is_late(const struct call *call, int64_t since_ms)
{
	int64_t limit_ms = call_progress_ms(call);

	return limit_ms >= 0 && (monotonic_ms() - since_ms >= limit_ms || call_left_ms(call) <= 0);
}

struct retrying {
	unsigned retries;
	int64_t pause_ms;
	int64_t throttled_ms;
};

/* How long to wait before it is made again; negative: not again. */
static int64_t next_pause_ms(
	const struct grpc_policy *policy, struct retrying *p, const struct grpc_outcome *out)
{
	int64_t pause_ms = p->pause_ms;

	if (out->retry_after_ms >= 0 && policy->throttle_max_ms) {
		p->throttled_ms += out->retry_after_ms;
		return policy->throttle_max_ms < 0 || p->throttled_ms <= policy->throttle_max_ms
			? out->retry_after_ms
			: -1;
	}
	if (!grpc_is_passing(out->status) || p->retries >= policy->retries)
		return -1;
	p->retries++;
	p->pause_ms = pause_ms * 2 < policy->pause_max_ms ? pause_ms * 2 : policy->pause_max_ms;
	return pause_ms;
}

enum err grpc_retry(const struct grpc_policy *policy, const struct call *call, grpc_attempt attempt,
	void *context, struct grpc_outcome *out, struct error *e)
{
	struct retrying retrying = { .pause_ms = policy->pause_ms };
	int64_t since_ms = monotonic_ms();

	for (unsigned number = 0;; number++) {
		struct error why = { 0 };
		enum err kind = attempt(context, call, number, out, &why);
		int64_t pause_ms = kind ? next_pause_ms(policy, &retrying, out) : -1;

		if (pause_ms < 0 || grpc_is_late(call, since_ms))
			return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
		kind = grpc_pause(call, pause_ms, e);
		if (kind)
			return kind;
	}
}
