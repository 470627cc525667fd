/*
 * wait.h - waits for a state that can only be looked at again and again.
 */
#pragma once

#include "providers/base/call.h"

/* *is_done: the wait can end. */
typedef enum err (*wait_look)(
	void *context, const struct call *call, bool *is_done, struct error *e);
/*
 * Looks with growing pauses (100 ms to 1 s) until done, failed or cancelled, or until `limit_ms`
 * are over: ERR_TIMEOUT. `what`: for a person.
 */
enum err wait_for_state(const struct call *call, int64_t limit_ms, const char *what, wait_look look,
	void *context, struct error *e);
