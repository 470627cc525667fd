/*
 * devbox_api.h - one request to Runloop's API, for the other files here.
 *
 * Source of what is said of the wire in this folder: @runloop/api-client 1.32.0, and what Runloop's own smoke tests expect of
 * the service. Nearly everything is POST with a JSON body, below /v1/devboxes. What may take long is held by the service
 * for 25 s at most and then answered 408, which means: not yet, ask again at once.
 */
#pragma once

#include "providers/rest/account.h"

/* Both ids come from outside and go into URLs: letters, digits, "_" and "-", at most 127 of them. */
bool devbox_is_id(const char *text);

/* A UUID of version 7 (RFC 9562): 36 characters and a NUL. ERR_IO: no random bytes. */
#define UUID7_SIZE 37
enum err uuid7_make(char out[UUID7_SIZE], struct error *e);

/* With the headers of RUNLOOP_CUSTOM_HEADERS. ERR_AUTH: no key. ERR_INVALID: the environment. */
enum err devbox_api_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);

/* What the vendor's SDK repeats (core.js, shouldRetry). */
#define DEVBOX_FLAGS (HTTP_SHOULD_RETRY | HTTP_LOCK_PASSES | HTTP_LATENESS_PASSES)

/*
 * A request about the devbox `id`, or about all where it is "". `format`: what follows /v1/devboxes/ID. POST carries a
 * request id that stays the same when it is sent again. Not to be moved once it is made, for it points into itself.
 * ERR_IO: no random bytes.
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

/* For how many seconds the service may hold an answer, so that it comes well before the call's deadline. */
int devbox_hold_s(const struct call *call);

/*
 * Asks, and again as long as the answer is 408, for `limit_ms` (negative: without end) at most: ERR_TIMEOUT. So what is
 * asked must be the same each time. *may_have_arrived, or NULL: false when it certainly was not done.
 */
enum err devbox_ask_held(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	int64_t limit_ms, struct json_object **json, bool *may_have_arrived, struct error *e);
/* The service's own answers: in JSON, a file, events. */
extern const struct vendor_frame devbox_frame, devbox_file_frame, devbox_events_frame;

/* The judge of all that is asked. */
enum err devbox_judge(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);
