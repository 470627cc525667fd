/*
 * devbox_api.h - one request to Runloop's API, for the other files here.
 *
 * Source for the wire's facts in this folder: @runloop/api-client 1.32.0, and the answers that
 * Runloop's own smoke tests expect of the service. Nearly every request is a POST with a JSON body,
 * below /v1/devboxes. The service holds a request that takes long for 25 s at most and then answers
 * 408, which means: not yet, ask again at once.
 */
#pragma once

#include "providers/rest/account.h"

/*
 * Whether a devbox's or a command's id may go into a URL, since both come from outside: letters,
 * digits, "_" and "-", at most 127 of them.
 */
bool devbox_is_id(const char *text);

/* A UUID of version 7 (RFC 9562): 36 characters and a NUL. ERR_IO: no random bytes. */
#define UUID7_SIZE 37
enum err uuid7_make(char out[UUID7_SIZE], struct error *e);

/* With the headers of RUNLOOP_CUSTOM_HEADERS. ERR_AUTH: no key. ERR_INVALID: the environment. */
enum err devbox_api_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);

/* The failures that the vendor's SDK repeats (core.js, shouldRetry). */
#define DEVBOX_FLAGS (HTTP_SHOULD_RETRY | HTTP_LOCK_PASSES | HTTP_LATENESS_PASSES)

/*
 * A request about the devbox `id`, or about all where it is "". `format`: the path after
 * /v1/devboxes/ID. A POST carries a request id, which stays the same when the request is sent
 * again. The struct points into itself, so it must not be moved once it is made. ERR_IO: no random
 * bytes.
 */
struct devbox_request {
	struct rest_ask ask;
	char path[512];
	char request_id[UUID7_SIZE];
	struct http_header headers[2];
};
__attribute__((format(printf, 6, 7))) enum err devbox_request_make(struct devbox_request *q,
	enum http_method method, const char *id, const char *what, struct error *e,
	const char *format, ...);

/*
 * The seconds for which the service may hold an answer, so that it comes well before the call's
 * deadline.
 */
int devbox_hold_s(const struct call *call);

/*
 * Sends a request, and sends it again while the answer is 408, for `limit_ms` at most (negative:
 * without end): ERR_TIMEOUT. So the request must be fit for repetition. `may_have_arrived` may be
 * NULL; *may_have_arrived is false when the request certainly was not done.
 */
enum err devbox_ask_held(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	int64_t limit_ms, struct json_object **json, bool *may_have_arrived, struct error *e);
/* The service's own answers: in JSON, a file, events. */
extern const struct vendor_frame devbox_frame, devbox_file_frame, devbox_events_frame;

/* The rest_verdict of this API. */
enum err devbox_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);
