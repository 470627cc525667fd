/*
 * rest.h - requests to a vendor's API that speaks JSON over HTTP: what every such vendor shares.
 *
 * One struct rest for each base URL (control plane, data plane). What a refusal means differs by vendor, so the vendor
 * gives a function for it; words are taken from its answer there. After rest_init() a struct rest is only read, by any
 * number of threads.
 */
#pragma once

#include "providers/http/http.h"

#include <json-c/json.h>

struct rest;

/* One request. `path` is added to the base URL. What it points to must outlive the call. */
struct rest_ask {
	enum http_method method;
	unsigned flags; /* enum http_flags */
	const char *path;
	const char *body;         /* NULL: none */
	size_t body_len;          /* 0: that of the text */
	const char *content_type; /* NULL: application/json */
	http_source source;       /* instead of `body`: body_len bytes */
	void *source_context;
	const struct http_header *headers; /* more of them, or NULL */
	size_t headers_count;
	const char *what; /* for people: "creating a sandbox" */
	const char *id;   /* of the sandbox it is about, for people; NULL: none */
};

/*
 * What an answer means whose status is not 2xx, or (`is_good`) says in its JSON that it failed. ERR_OK: it is good. `json`
 * is NULL where the body is none.
 */
typedef enum err (*rest_judge)(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

struct rest {
	struct http *http;
	const char *vendor;          /* for messages: "daytona" */
	char *base_url;              /* owned, without a slash at its end */
	struct http_header *headers; /* owned, sent with every request, secrets marked */
	size_t headers_count;
	rest_judge judge;
};

/* `headers` and their texts are copied. ERR_INVALID: the URL. */
enum err rest_init(struct rest *out, struct http *http, const char *vendor, const char *base_url,
	const struct http_header *headers, size_t headers_count, rest_judge judge, struct error *e);
/* Wipes the secrets first. */
void rest_release(struct rest *r);

/*
 * Asks and judges. *json, or NULL where nobody wants it: the answer, json_object_put() is the caller's; NULL: no body.
 * ERR_PROTOCOL: a good answer that is not JSON though *json is wanted. Errors otherwise as http.h and the judge say.
 */
enum err rest_perform(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct json_object **json, struct error *e);

/* A body as it comes, once the status is known to be good; anything but ERR_OK ends it with that. */
typedef enum err (*rest_sink)(void *context, const void *bytes, size_t len, struct error *e);
enum err rest_stream(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	rest_sink sink, void *context, struct error *e);

/*
 * Two requests at once, for a program that waits for a file which is uploaded meanwhile: `first` is under way before
 * `second` is sent. An error of the second ends the first and is the error; *first_arrived says whether the first may have
 * been done.
 */
enum err rest_perform_both(const struct rest *r, const struct call *call,
	const struct rest_ask *first, struct json_object **json, bool *first_arrived,
	const struct rest_ask *second, struct error *e);

/* ---- Reading JSON, leniently: what is absent or of another type is the default ---- */

const char *rest_text(struct json_object *o, const char *name, const char *otherwise);
int64_t rest_integer(struct json_object *o, const char *name, int64_t otherwise);
bool rest_flag(struct json_object *o, const char *name, bool otherwise);
/* NULL: absent, or neither an object nor an array. */
struct json_object *rest_member(struct json_object *o, const char *name);

/* ---- Waiting for a state ---- */

/* *is_done: no need to ask again. */
typedef enum err (*rest_poll)(
	void *context, const struct call *call, bool *is_done, struct error *e);
/* Asks with growing pauses (100 ms to 1 s) until it is done, fails, is cancelled, or `limit_ms` are over: ERR_TIMEOUT. */
enum err rest_wait(const struct call *call, int64_t limit_ms, const char *what, rest_poll poll,
	void *context, struct error *e);

/* A sandbox that is being made is waited for so long: the agent-backend protocol's own limit. */
#define REST_READY_MS 180000
