/*
 * control_plane.h - E2B's control plane: making, finding, waking and ending sandboxes.
 *
 * https://api.<domain>, header X-API-Key, JSON. v2 routes are tried first. A self-hosted server
 * that does not know such a route (404 or 405 with a body that is not about a sandbox) gets v1.
 * Facts are those of the e2b SDK 2.51. A function makes one request, unless its comment says more.
 *
 * Errors: ERR_NOT_FOUND (no such sandbox, or another team's), ERR_AUTH (401, 403), ERR_BUSY (409),
 * ERR_QUOTA (429 after repetitions: too many sandboxes or requests), ERR_INVALID (400, with the
 * vendor's words), ERR_UNREACHABLE (5xx after repetitions), ERR_PROTOCOL, and those of http.h.
 * Functions may be called from any thread.
 */
#pragma once

#include "providers/e2b/settings.h"
#include "providers/http/http.h"
#include "providers/login.h"
#include "providers/provider.h"

/* "i" and 20 characters of [a-z0-9]; older ids carried "-<client id>", which is cut off. */
#define PLANE_ID_MAX 64

struct plane;

/* The key is that of rest_account_open(); errors as there. */
enum err plane_new(struct plane **out, const struct e2b_settings *settings,
	const struct provider_config *cfg, struct error *e);
void plane_free(struct plane *c);
/* The HTTP client, also for what else is asked of the vendor. */
struct http *plane_http(const struct plane *c);

/* login.c: the key that a login with the vendor's own program left. */
extern const struct login_format e2b_login;

/* One sandbox as the control plane reports it. A string that the answer lacks is "". */
struct plane_sandbox {
	char id[PLANE_ID_MAX];
	char domain[256]; /* the domain of the data plane's host; "": the configured one */
	char token[512];  /* envdAccessToken; secret; "": not secured */
	/* trafficAccessToken, in answers that wake: secret, opens private ports; "": none */
	char traffic_token[512];
	bool is_private;                    /* the URLs of ports need that token */
	char volumes[SANDBOX_VOLUMES_SIZE]; /* as in struct sandbox_info */
	char envd_version[32];              /* "0.6.13" */
	enum sandbox_state state;
	bool auto_resumes; /* any request to the sandbox wakes it; not in answers that wake */
	int64_t ends_s;    /* seconds from now until the sandbox ends; -1: the answer lacks it */
};

/* GET /sandboxes/ID: neither wakes the sandbox nor changes its end. */
enum err plane_info(struct plane *c, const struct call *call, const char *id,
	struct plane_sandbox *out, struct error *e);

struct plane_new_sandbox {
	const char *template;                   /* NULL: "base" */
	const char *const *env, *const *labels; /* as in provider_config */
	int64_t lifetime_s;                     /* 0: the vendor's default */
	bool pause_at_end;                      /* the sandbox is then paused instead of killed */
	bool block_network;                     /* the sandbox reaches nothing outside */
	const char *const *allowed;             /* as in provider_config */
};

/* POST /v2/sandboxes. Never repeated: there is no idempotency key. */
enum err plane_create(struct plane *c, const struct call *call,
	const struct plane_new_sandbox *wanted, struct plane_sandbox *out, struct error *e);

/*
 * POST /v2/sandboxes/ID/connect: wakes a paused sandbox. The sandbox's end only ever moves further
 * away. lifetime_s 0: the default.
 */
enum err plane_wake(struct plane *c, const struct call *call, const char *id, int64_t lifetime_s,
	struct plane_sandbox *out, struct error *e);

/*
 * Moves the end to `seconds` from now or later. Up to 3600 the route is /refreshes, which never
 * shortens a life. Above 3600 the route is /timeout, and /refreshes with 3600 where /timeout is
 * refused. A life as long as the plan allows is success, and logged once.
 */
enum err plane_extend(
	struct plane *c, const struct call *call, const char *id, int64_t seconds, struct error *e);

/* POST /sandboxes/ID/pause. A sandbox that is paused already is success. */
enum err plane_pause(struct plane *c, const struct call *call, const char *id, struct error *e);

/* DELETE /sandboxes/ID. A sandbox that does not exist is success. */
enum err plane_kill(struct plane *c, const struct call *call, const char *id, struct error *e);

/* PUT /sandboxes/ID/network: replaces the rules, as provider_ops.set_network. */
enum err plane_set_network(struct plane *c, const struct call *call, const char *id, bool blocked,
	const char *const *allowed, struct error *e);

/* GET /v2/sandboxes/ID/logs, as provider_ops.logs. */
enum err plane_logs(struct plane *c, const struct call *call, const char *id, log_sink sink,
	void *context, struct error *e);

/* GET /v2/sandboxes, all pages, running and paused ones. */
enum err plane_list(struct plane *c, const struct call *call, sandbox_sink sink, void *context,
	struct error *e);

/* ---- snapshot.c: slots of struct provider_ops, for an account's control plane ---- */

/* POST /sandboxes/ID/snapshots, never repeated. `name` may be NULL. */
enum err plane_snapshot(struct plane *c, const struct call *call, const char *id, const char *name,
	char snapshot[SNAPSHOT_ID_SIZE], struct error *e);
/* GET /snapshots, all pages. */
enum err plane_list_snapshots(struct plane *c, const struct call *call, snapshot_sink sink,
	void *context, struct error *e);
/* DELETE /templates/SNAPSHOT. A snapshot that does not exist is success. */
enum err plane_delete_snapshot(
	struct plane *c, const struct call *call, const char *snapshot, struct error *e);
/*
 * POST /sandboxes/ID/fork, for one new sandbox with the default life, never repeated. ERR_BUSY: the
 * sandbox does not run.
 */
enum err plane_fork(struct plane *c, const struct call *call, const char *id,
	struct plane_sandbox *out, struct error *e);
