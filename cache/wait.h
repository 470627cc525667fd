/*
 * wait.h - waiting for what another thread does, while somebody may give up.
 */
#pragma once

#include "providers/base/call.h"

#include <pthread.h>

/* A condition whose timed waits are by the monotonic clock. */
void wait_init(pthread_cond_t *changed);

/* Waits on `changed` until it is signalled or the monotonic clock says `end_ms`. */
void wait_until_locked(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t end_ms);

/*
 * Waits on `changed`, but not for long: whoever calls it looks again at what is awaited, and at the time. ERR_INTERRUPTED:
 * `call` (may be NULL) was cancelled.
 */
enum err wait_briefly_locked(
	pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call, struct error *e);

/*
 * The same of a question that another thread asks, whose progress (NULL: not known) counts as the
 * caller's: ERR_TIMEOUT at the caller's deadline, if the caller has one.
 */
enum err wait_for_other_locked(pthread_cond_t *changed, pthread_mutex_t *lock,
	const struct call *call, const struct progress *other, struct error *e);
