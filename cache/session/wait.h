/*
 * wait.h - waiting for what another thread does, while somebody may give up.
 */
#pragma once

#include "providers/base/call.h"

#include <pthread.h>

/*
 * Waits on `changed` (base/condition.h), but not for long: the caller looks again at what is awaited,
 * and at the time. ERR_INTERRUPTED: `call` (may be NULL) was cancelled.
 */
enum err wait_briefly_locked(
	pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call, struct error *e);

/*
 * The same of a question that another thread asks, whose progress (NULL: not known) counts as the
 * caller's: ERR_TIMEOUT at the caller's deadline, if the caller has one.
 */
enum err wait_for_other_locked(pthread_cond_t *changed, pthread_mutex_t *lock,
	const struct call *call, const struct progress *other, struct error *e);
