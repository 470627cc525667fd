#include "providers/runloop/devbox_api.h"

#include "providers/base/cleanup.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ID_MAX 127
/*
 * The service holds a request about a command for 25 s at most, and one about a devbox for 30 s;
 * the streams end at 30 s as well.
 */
#define HOLD_MAX_S 25
/* A shorter hold was none: a service that answers so is not asked all the time. */
#define HOLD_MIN_MS 100

/* ---- Ids ---- */

bool devbox_is_id(const char *text)
{
	size_t len =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return len && len <= ID_MAX && !text[len];
}

enum err uuid7_make(char out[UUID7_SIZE], struct error *e)
{
	unsigned char random[10];
	struct timespec now = time_of_day();
	uint64_t ms;

	if (getrandom(random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "getrandom");
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	snprintf(out, UUID7_SIZE, "%08x-%04x-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		(unsigned)(ms >> 16 & 0xffffffff), (unsigned)(ms & 0xffff), random[0] & 0xf,
		random[1], (random[2] & 0x3f) | 0x80, random[3], random[4], random[5], random[6],
		random[7], random[8], random[9]);
	return ERR_OK;
}

/* ---- A request ---- */

__attribute__((format(printf, 3, 0))) static void put_path(
	struct devbox_request *q, const char *id, const char *format, va_list values)
{
	int len = snprintf(q->path, sizeof q->path, "/v1/devboxes%s%s", *id ? "/" : "", id);

	len += vsnprintf(q->path + len, sizeof q->path - (size_t)len, format, values);
	assert((size_t)len < sizeof q->path);
}

enum err devbox_request_make(struct devbox_request *q, enum http_method method, const char *id,
	const char *what, struct error *e, const char *format, ...)
{
	va_list values;
	enum err kind;

	*q = (struct devbox_request){
		.ask = { .method = method, .flags = DEVBOX_FLAGS, .id = id, .what = what }
	};
	q->ask.path = q->path;
	va_start(values, format);
	put_path(q, id, format, values);
	va_end(values);
	if (method == HTTP_GET)
		return ERR_OK;
	kind = uuid7_make(q->request_id, e);
	q->headers[0] = (struct http_header){ .name = "x-request-id", .value = q->request_id };
	q->ask.headers = q->headers;
	q->ask.headers_count = 1;
	return kind;
}

/* ---- The meaning of an answer ---- */

/* The service's documents name no other refusals; a gateway's have a "message", too. */
#define REFUSAL(status_)                                                                           \
	{                                                                                          \
		.status = (status_), .members = { { "message", MEMBER_TEXT } }                     \
	}

static const struct frame_form forms[] = { REFUSAL(400), REFUSAL(401), REFUSAL(403), REFUSAL(404),
	REFUSAL(408), REFUSAL(409), REFUSAL(422), REFUSAL(429), REFUSAL(500), REFUSAL(501),
	REFUSAL(502), REFUSAL(503), REFUSAL(504) };

#define FRAME_OF(types) VENDOR_FRAME(types, "is RUNLOOP_BASE_URL right?", forms)
const struct vendor_frame devbox_frame = FRAME_OF("application/json");
const struct vendor_frame devbox_file_frame = FRAME_OF("application/octet-stream");
const struct vendor_frame devbox_events_frame = FRAME_OF("text/event-stream");

enum err devbox_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	const char *words = rest_text(json, "message", "");
	const char *colon = *words ? ": " : "";

	if (status >= 200 && status < 300)
		return ERR_OK;
	(void)answer;
	switch (status) {
	case 401:
	case 403:
		return error_set(e, ERR_AUTH,
			"runloop: the key is not accepted%s%s; RUNLOOP_API_KEY or -o key_file= "
			"must "
			"be a key of the devbox's account",
			colon, words);
	case 408:
		return error_set(e, ERR_TIMEOUT, "runloop:%s: %s: the service gave it up%s%s",
			ask->id, ask->what, colon, words);
	case 429:
		/*
		 * A request about one devbox exceeds the limit on requests. Another may exceed the
		 * limit on devboxes.
		 */
		return error_set(e, *ask->id ? ERR_BUSY : ERR_QUOTA,
			"runloop: %s: too many requests or devboxes%s%s; try again later",
			ask->what, colon, words);
	default: return rest_refuse(r, ask, status, words, e);
	}
}

/* ---- Requests that take long ---- */

int devbox_hold_s(const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	if (limit_ms < 0 || limit_ms / 2000 > HOLD_MAX_S)
		return HOLD_MAX_S;
	return limit_ms >= 2000 ? (int)(limit_ms / 2000) : 1;
}

static enum err check_answer(const struct rest *r, const struct rest_ask *ask,
	const struct http_answer *answer, struct json_object **json, struct error *e)
{
	AUTO_JSON struct json_object *value = NULL;
	enum err kind;

	rest_parse(&answer->body, &value);
	kind = devbox_verdict(r, ask, answer->status, value, answer, e);
	if (!kind && !value)
		return rest_no_json(r, ask, e);
	*json = kind ? NULL : take(value);
	return kind;
}

/* ERR_OK: time is up. */
static enum err pause_for(const struct call *call, int64_t ms, struct error *e)
{
	const struct call pause = { .progress_ms = ms, .cancel = call ? call->cancel : NULL };
	enum err kind = call_wait_fd(&pause, -1, 0, e);

	return kind == ERR_TIMEOUT ? ERR_OK : kind;
}

/* One answer. *is_late: the answer was 408, and the request may be sent again. */
static enum err ask_once(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct json_object **json, bool *may_have_arrived, bool *is_late, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	enum err kind = rest_send(r, call, ask, &answer, e);

	*is_late = !kind && answer.status == 408 && !answer.is_final;
	if (!kind)
		kind = check_answer(r, ask, &answer, json, e);
	/*
	 * A request refused for its content was not done; 408 says only that it was not done in
	 * time.
	 */
	*may_have_arrived = answer.may_have_arrived &&
		(answer.status < 400 || answer.status == 408 || answer.status >= 500);
	return kind;
}

enum err devbox_ask_held(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	int64_t limit_ms, struct json_object **json, bool *may_have_arrived, struct error *e)
{
	const int64_t begin_ms = monotonic_ms();
	struct rest_ask held = *ask;

	held.flags &= ~(unsigned)HTTP_LATENESS_PASSES;
	for (;;) {
		int64_t asked_ms = monotonic_ms();
		struct error why = { 0 };
		bool is_late, may_have;
		enum err kind = ask_once(r, call, &held, json, &may_have, &is_late, &why);

		if (may_have_arrived)
			*may_have_arrived = may_have;
		if (!is_late || (limit_ms >= 0 && monotonic_ms() - begin_ms >= limit_ms))
			return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
		if (monotonic_ms() - asked_ms < HOLD_MIN_MS && pause_for(call, HOLD_MIN_MS, e))
			return ERR_INTERRUPTED;
	}
}
