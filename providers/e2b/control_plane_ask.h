/*
 * control_plane_ask.h - one request to E2B's control plane, and the error that an answer means.
 * Internal to control_plane*.c.
 */
#pragma once

#include "providers/e2b/control_plane.h"
#include "providers/rest/account.h"

#include <stdatomic.h>

/* Routes that older servers know in another form; the SDK 2.51 has both. */
enum route { ROUTE_CREATE, ROUTE_CONNECT, ROUTE_LIST };

struct plane {
	struct rest_account account;
	/* Bits of enum route: the routes of which this server knows the older form alone. */
	atomic_uint old_routes;
	atomic_bool has_logged_limit; /* the log has the warning about the plan's longest life */
};

/* ERR_OK: a good answer (2xx). Errors: see control_plane.h. */
enum err plane_ask(struct plane *c, const struct call *call, const struct rest_ask *ask,
	struct http_answer *answer, struct error *e);

/* plane_ask() for /sandboxes/ID, followed by ask.path. */
enum err plane_ask_of(struct plane *c, const struct call *call, struct rest_ask ask,
	struct http_answer *answer, struct error *e);

/*
 * Sends the newer form, and the older one where the server does not know the newer: a server does
 * nothing for a route that it does not know.
 */
enum err plane_ask_either(struct plane *c, const struct call *call, enum route route,
	const struct rest_ask *newer, const struct rest_ask *older, struct http_answer *answer,
	struct error *e);
