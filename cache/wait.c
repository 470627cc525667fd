#include "cache/wait.h"

#include <time.h>

/* So long goes by until a cancelled call is noticed: a person takes it for at once. */
#define LOOK_MS 50

void wait_init(pthread_cond_t *changed)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void wait_until_locked(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t end_ms)
{
	struct timespec end = { .tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000 };

	pthread_cond_timedwait(changed, lock, &end);
}

enum err wait_briefly_locked(
	pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call, struct error *e)
{
	if (call && call->cancel && cancel_thrown(call->cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	wait_until_locked(changed, lock, monotonic_ms() + LOOK_MS);
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
