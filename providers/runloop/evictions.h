/*
 * evictions.h - the service's notices that it will suspend a devbox because it needs the machine.
 *
 * GET /v1/devboxes/evictions/watch is a stream of server-sent events about all devboxes of the
 * account (@runloop/api-client 1.32.0, watchEvictions): those pending at first, then each new one.
 * The service calls it advisory and says nothing of its end, so it is asked for again when it ends.
 * One thread reads it, and makes no request before the time that the caller gives.
 */
#pragma once

#include "providers/rest/rest.h"

struct evictions;

/* `r` and `id` outlive the result. The stream is first asked for after `wait_ms`. */
enum err evictions_new(struct evictions **out, const struct rest *r, const char *id,
	int64_t wait_ms, struct error *e);
/* Ends the stream. NULL is allowed. */
void evictions_free(struct evictions *v);
/*
 * When the service will suspend the devbox, in seconds since 1970 by its clock; 0: no time is
 * known, or it has passed. NULL is allowed. Any thread.
 */
int64_t evictions_deadline_s(const struct evictions *v);
