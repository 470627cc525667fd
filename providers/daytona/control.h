/*
 * control.h - Daytona's control plane, as far as single sandboxes are concerned.
 *
 * Source: openapi-specs/api.json of daytona/clients 0.205, and the API of daytona 0.190. Functions
 * may be called from any thread. Errors: see account.h and rest.h. ERR_NOT_FOUND: no such sandbox.
 * ERR_BUSY: the sandbox's state is changing; the same request succeeds a little later.
 */
#pragma once

#include "providers/daytona/account.h"

/* The vendor's many states, in groups. */
enum daytona_life {
	DAYTONA_RUNS,
	DAYTONA_RESTS, /* stopped, archived or paused: can be started */
	DAYTONA_CHANGES,
	DAYTONA_BROKEN, /* never runs again by itself; some such sandboxes can be recovered */
	DAYTONA_FAILED, /* the image could not be built */
	DAYTONA_ENDED,  /* deleted, though the control plane still shows the sandbox */
};

#define DAYTONA_TEXT_MAX 512

struct daytona_sandbox {
	char id[128];
	char state[32];                     /* in the vendor's words */
	char user[64];                      /* the user who runs the commands */
	char toolbox_url[DAYTONA_TEXT_MAX]; /* without the id; "": the answer lacks it */
	char why[200];                      /* the reason for DAYTONA_BROKEN or DAYTONA_FAILED */
	char volumes[SANDBOX_VOLUMES_SIZE]; /* as in struct sandbox_info */
	char destroyed_at[40];              /* the sandbox's end, used or not; "": never */
	enum daytona_life life;
	int64_t idle_s; /* the time without use until the sandbox stops or is paused; 0: never */
	int64_t destroyed_s; /* seconds until destroyed_at; -1: never */
	int64_t expires_s;   /* seconds until the first of these two ends; -1: neither */
	bool pauses;         /* the sandbox is paused after idle_s, and does not stop */
	bool is_ephemeral;   /* the sandbox is deleted when it stops */
	bool is_recoverable; /* a DAYTONA_BROKEN sandbox that DAYTONA_RECOVER can repair */
	bool is_spot;        /* the sandbox ends without notice when others need its GPU */
};

enum daytona_life daytona_life_of(const char *state);
/* Sets the state, expires_s and warning of a struct sandbox_info (provider.h). */
void daytona_describe(const struct daytona_sandbox *sandbox, struct sandbox_info *out);

/* Asks for one sandbox. `id`: the ID, or the name. */
enum err daytona_look(const struct rest *r, const struct call *call, const char *id,
	struct daytona_sandbox *out, struct error *e);
/*
 * Makes a sandbox, which may not run yet when the call returns. ERR_INVALID: cfg->template, or an
 * option that does not go with it.
 */
enum err daytona_make(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, struct daytona_sandbox *out, struct error *e);
enum daytona_action {
	/* The first three begin a change of state, which goes on after the call has returned. */
	DAYTONA_START,
	DAYTONA_STOP,
	DAYTONA_RECOVER,
	DAYTONA_TOUCH, /* notes that the sandbox was used just now */
	DAYTONA_DELETE,
};
/* To delete a sandbox that does not exist is success. */
enum err daytona_act(const struct rest *r, const struct call *call, const char *id,
	enum daytona_action action, struct error *e);
enum daytona_interval {
	DAYTONA_AUTOSTOP, /* the time without use until the sandbox stops */
	DAYTONA_AUTOPAUSE,
	DAYTONA_TTL, /* the time from now until the sandbox is destroyed */
};
/* `seconds` is rounded up to minutes. */
enum err daytona_set_interval(const struct rest *r, const struct call *call, const char *id,
	enum daytona_interval interval, int64_t seconds, struct error *e);

/* provider_ops.set_network. */
enum err daytona_set_network(const struct rest *r, const struct call *call, const char *id,
	bool blocked, const char *const *allowed, struct error *e);

/* Adds a URL for `port` to `out`. The URL is valid for a day, the service's longest time. */
enum err daytona_port_url(const struct rest *r, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e);

/* The URL of the log of the image's build. */
enum err daytona_build_log_url(const struct rest *r, const struct call *call, const char *id,
	char out[DAYTONA_TEXT_MAX], struct error *e);

/* The base URL for requests to the sandbox; `out` is allocated. */
enum err daytona_toolbox_url(const struct rest *r, const struct call *call,
	const struct daytona_sandbox *sandbox, char **out, struct error *e);

enum err daytona_list(const struct rest *r, const struct call *call, sandbox_sink sink,
	void *context, struct error *e);
