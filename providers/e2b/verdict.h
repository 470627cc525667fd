/*
 * verdict.h - a refusal by E2B's daemon, or by the proxy in front of it, as an enum err.
 *
 * Three shapes were seen: {"code": "not_found", "message": ...} from an RPC, the same inside
 * {"error": ...} at the end of a stream whose status is 200, and {"code": 404, "message": ...} from
 * /files, the check of the token and the proxy. A code that is a name decides, else the status
 * does. Details are in the message alone: "internal" may end in the words of a Linux errno.
 */
#pragma once

#include "providers/vendor_frame.h"

#include <stdbool.h>

/*
 * The forms of E2B's own answers: to an RPC with one answer, to an RPC with many, of /files, of the
 * control plane.
 */
extern const struct vendor_frame e2b_unary_frame, e2b_stream_frame, e2b_files_frame,
	e2b_plane_frame;
/* The control plane's answers where it may not know the route: such a refusal has any words. */
extern const struct vendor_frame e2b_route_frame;

/*
 * Sets the error for an answer whose status is none of success. `body`: as much of the body as
 * came. `what`: the request, for the error's text. *untouched: certainly nothing was done.
 */
enum err refusal_of_status(int status, const void *body, size_t len, const char *what,
	bool *untouched, struct error *e);

/*
 * Sets the error for the end of a stream. ERR_OK: the end reports no error. ERR_PROTOCOL: the JSON
 * is no end of a stream.
 */
enum err refusal_of_end(
	const void *json, size_t len, const char *what, bool *untouched, struct error *e);
