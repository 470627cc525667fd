/*
 * wait.h - a wait for what another thread does, while the caller may be cancelled.
 */
#pragma once

#include "providers/base/call.h"

#include <pthread.h>

/*
 * Waits on `changed` (base/condition.h), but not for long: the caller looks again at its condition,
 * and at the time. ERR_INTERRUPTED: `call` (may be NULL) was cancelled.
 */
enum err wait_briefly_locked(
	pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call, struct error *e);

/*
 * As wait_briefly_locked(), for the answer to a question that another thread asks. That thread's
 * progress (NULL: not known) counts as the caller's. ERR_TIMEOUT: the caller's deadline is over, if
 * the caller has one.
 */
enum err wait_for_other_locked(pthread_cond_t *changed, pthread_mutex_t *lock,
	const struct call *call, const struct progress *other, struct error *e);
