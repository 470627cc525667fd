/*
 * verdict.h - why E2B's daemon, or the proxy in front of it, did not do what it was asked, as an error of ours.
 *
 * Three shapes were seen: {"code": "not_found", "message": ...} from an RPC, the same inside {"error": ...} at the end of a
 * stream whose status is 200, and {"code": 404, "message": ...} from /files, the check of the token and the proxy. Where
 * the code is a name it decides, else the status. Details hide in the message alone: "internal" may end in the words of
 * a Linux errno.
 */
#pragma once

#include "providers/vendor_frame.h"

#include <stdbool.h>

/* Which answers are E2B's own: to an RPC with one answer and with many, of files, of the control plane. */
extern const struct vendor_frame e2b_unary_frame, e2b_stream_frame, e2b_files_frame,
	e2b_plane_frame;
/* Of the control plane where it may not know the route: then it answers in any words. */
extern const struct vendor_frame e2b_route_frame;

/*
 * Sets the error for an answer whose status is none of success. `body`: as much of it as there is. `what`: what was asked,
 * for the sentence. *untouched: certainly nothing was done.
 */
enum err refusal_of_status(int status, const void *body, size_t len, const char *what,
	bool *untouched, struct error *e);

/* The same for the end of a stream: ERR_OK where it tells of no error. ERR_PROTOCOL: it is not what ends streams. */
enum err refusal_of_end(
	const void *json, size_t len, const char *what, bool *untouched, struct error *e);
