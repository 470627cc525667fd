/*
 * control_plane_ask.h - one request to E2B's control plane, and what an answer that is not a good one means. Internal to
 * control_plane*.c.
 */
#pragma once

#include "providers/e2b/control_plane.h"
#include "providers/rest/rest.h"

#include <stdatomic.h>

/* Routes that older servers know in another form; the SDK 2.51 has both. */
enum route { ROUTE_CREATE, ROUTE_CONNECT, ROUTE_LIST };

struct plane {
	struct rest rest;
	atomic_uint
		old_routes; /* bits of enum route: this server answered to the older form alone */
	atomic_bool has_told_limit; /* the log has it that no more life can be had */
};

/* ERR_OK: a good answer (2xx). An error is as control_plane.h says. */
enum err plane_ask(struct plane *c, const struct call *call, const struct rest_ask *ask,
	struct http_answer *answer, struct error *e);

/* The same for /sandboxes/ID and ask.path behind it. */
enum err plane_ask_of(struct plane *c, const struct call *call, struct rest_ask ask,
	struct http_answer *answer, struct error *e);

/* The newer form, and the older where the server turns out not to know it. Neither was done where it is unknown. */
enum err plane_ask_either(struct plane *c, const struct call *call, enum route route,
	const struct rest_ask *newer, const struct rest_ask *older, struct http_answer *answer,
	struct error *e);
