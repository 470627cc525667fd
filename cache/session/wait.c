#include "cache/session/wait.h"

#include "providers/base/condition.h"

/* A cancelled call is noticed after this time. To a person it is at once. */
#define LOOK_MS 50

enum err wait_briefly_locked(
	pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call, struct error *e)
{
	if (call && call->cancel && cancel_thrown(call->cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	condition_wait_until(changed, lock, monotonic_ms() + LOOK_MS);
	return ERR_OK;
}

enum err wait_for_other_locked(pthread_cond_t *changed, pthread_mutex_t *lock,
	const struct call *call, const struct progress *other, struct error *e)
{
	if (other)
		call_moved_at(call, other->moved_ms);
	enum err kind = call_check_time(call, e);

	return kind ? kind : wait_briefly_locked(changed, lock, call, e);
}
