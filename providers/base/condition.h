/*
 * condition.h - condition variables whose waits end by the monotonic clock. Libc only.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void condition_init(pthread_cond_t *c);

/*
 * Waits, with `lock` held, until the condition is signalled. false: monotonic_ms() has reached
 * `end_ms`.
 */
bool condition_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t end_ms);
