/*
 * control.h - E2B's control plane: making, finding, waking and ending sandboxes.
 *
 * https://api.<domain>, header X-API-Key, JSON. v2 routes first; a self-hosted server that does not know one (404 or 405
 * with a body that is not about a sandbox) gets v1. Facts are those of the e2b SDK 2.51. One request each, unless said.
 *
 * Errors: ERR_NOT_FOUND (no such sandbox, or another team's), ERR_AUTH (401, 403), ERR_BUSY (409), ERR_QUOTA (429 after
 * repetitions: too many sandboxes or requests), ERR_INVALID (400, with the vendor's words), ERR_UNREACHABLE (5xx after
 * repetitions), ERR_PROTOCOL, and those of http.h. Functions may be called from any thread.
 */
#pragma once

#include "providers/http/http.h"
#include "providers/provider.h"

/* "i" and 20 characters of [a-z0-9]; older ids carried "-<client id>", which is cut off. */
#define CONTROL_ID_MAX 64

struct control;

struct control_options {
	const char *base_url; /* "https://api.e2b.app", or E2B_API_URL; no slash at the end */
	const char *key;      /* secret */
};

enum err control_new(struct control **out, struct http *http, const struct control_options *options,
	struct error *e);
void control_free(struct control *c);

/* What the control plane says of one sandbox. Strings are "" where it says nothing. */
struct control_sandbox {
	char id[CONTROL_ID_MAX];
	char domain[256];      /* of the data plane's host; "": the configured one */
	char token[512];       /* envdAccessToken; secret; "": not secured */
	char envd_version[32]; /* "0.6.13" */
	enum sandbox_state state;
	int64_t ends_s; /* from now; -1: not told */
};

/* GET /sandboxes/ID: neither wakes it nor changes its end. */
enum err control_info(struct control *c, const struct call *call, const char *id,
	struct control_sandbox *out, struct error *e);

struct control_new_sandbox {
	const char *template; /* NULL: "base" */
	int64_t lifetime_s;   /* 0: the vendor's default */
	bool pause_at_end;    /* instead of being killed */
};

/* POST /v2/sandboxes. Never repeated: there is no idempotency key. */
enum err control_create(struct control *c, const struct call *call,
	const struct control_new_sandbox *wanted, struct control_sandbox *out, struct error *e);

/* POST /v2/sandboxes/ID/connect: wakes a paused one; only ever moves the end further away. lifetime_s 0: the default. */
enum err control_wake(struct control *c, const struct call *call, const char *id,
	int64_t lifetime_s, struct control_sandbox *out, struct error *e);

/* At least `seconds` from now: /refreshes (which never shortens), in steps of its 3600, else what /timeout allows. */
enum err control_extend(struct control *c, const struct call *call, const char *id, int64_t seconds,
	struct error *e);

/* POST /sandboxes/ID/pause. One that is paused already is success. */
enum err control_pause(struct control *c, const struct call *call, const char *id, struct error *e);

/* DELETE /sandboxes/ID. One that does not exist is success. */
enum err control_kill(struct control *c, const struct call *call, const char *id, struct error *e);

/* GET /v2/sandboxes, all pages, running and paused ones. */
enum err control_list(struct control *c, const struct call *call, sandbox_sink sink, void *context,
	struct error *e);
