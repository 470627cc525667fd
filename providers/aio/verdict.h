/*
 * verdict.h - the meaning of the service's answers.
 *
 * An answer is read in the order of the vendor's guide on errors: the HTTP status, then `success`,
 * which may be false inside a 200. Failures of files have Linux's own errno. For a command's
 * session ERR_BUSY means that there is none to be had, and ERR_STALE that the session does not
 * exist, or that the image has no sessions at all.
 */
#pragma once

#include "providers/rest/rest.h"

/* The service's own answers: the content of a file, and all others. */
extern const struct vendor_frame aio_frame, aio_file_frame;

/*
 * A rest_verdict. The error's text begins with the sandbox: "aio:localhost_8080: uploading: ...".
 */
enum err aio_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);
