/*
 * verdict.h - what the answers of both planes mean.
 *
 * Failures come in four forms: {"detail": {"error", "message", "error_id"?}}, {"detail": [{"loc",
 * "msg"}]}, {"detail": TEXT} and {"error", "message"} (npm langsmith 0.10.5,
 * dist/sandbox/helpers.js, and the tests of the vendor's Python SDK).
 *
 * ERR_GONE: the data plane does not know the sandbox, or the sandbox is not ready. Nothing was
 * done, and the control plane knows more.
 */
#pragma once

#include "providers/rest/rest.h"

/* The forms of the service's own answers: to a download, and to other requests. */
extern const struct vendor_frame langsmith_frame, langsmith_file_frame;

/* A rest_verdict. */
enum err langsmith_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);
