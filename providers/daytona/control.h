/*
 * control.h - Daytona's control plane, as far as single sandboxes are concerned.
 *
 * Source: openapi-specs/api.json of daytona/clients 0.205, and the API of daytona 0.190. Everything may be called from any
 * thread. Errors as account.h and rest.h say; ERR_NOT_FOUND: no such sandbox; ERR_BUSY: its state is changing, a little later
 * it can be done.
 */
#pragma once

#include "providers/daytona/account.h"

/* Many states come to these. */
enum daytona_life {
	DAYTONA_RUNS,
	DAYTONA_RESTS, /* stopped, archived, paused: can be started */
	DAYTONA_CHANGES,
	DAYTONA_BROKEN, /* never to run again by itself; some may be recovered */
	DAYTONA_FAILED, /* its image could not be built */
	DAYTONA_ENDED,  /* deleted, though still told of */
};

#define DAYTONA_TEXT_MAX 512

struct daytona_sandbox {
	char id[128];
	char state[32];                     /* in the vendor's words */
	char user[64];                      /* whose its commands are */
	char toolbox_url[DAYTONA_TEXT_MAX]; /* without the id; "": not told */
	char why[200];                      /* DAYTONA_BROKEN, DAYTONA_FAILED */
	char destroyed_at[40];              /* whatever it does till then; "": never */
	enum daytona_life life;
	int64_t idle_s;      /* it stops, or is paused, after so long without use; 0: never */
	int64_t destroyed_s; /* seconds until destroyed_at; -1: never */
	int64_t expires_s;   /* until the first of these; -1: neither */
	bool pauses;         /* after idle_s, in place of stopping */
	bool is_ephemeral;   /* deleted when it stops */
	bool is_recoverable; /* DAYTONA_BROKEN */
	bool is_spot;        /* ended without notice where others need its GPU */
};

enum daytona_life daytona_life_of(const char *state);
/* As provider.h describes a sandbox: state, expires_s and warning. */
void daytona_describe(const struct daytona_sandbox *sandbox, struct sandbox_info *out);

/* What is known of it. `id`: the ID, or the name. */
enum err daytona_look(const struct rest *r, const struct call *call, const char *id,
	struct daytona_sandbox *out, struct error *e);
/* ERR_INVALID: cfg->template, and what does not go with it. It is not yet to be used. */
enum err daytona_make(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, struct daytona_sandbox *out, struct error *e);
enum daytona_action {
	DAYTONA_START, /* these three begin a change of state, which goes on behind */
	DAYTONA_STOP,
	DAYTONA_RECOVER,
	DAYTONA_TOUCH, /* it was used just now */
	DAYTONA_DELETE,
};
/* To delete one that does not exist is success. */
enum err daytona_act(const struct rest *r, const struct call *call, const char *id,
	enum daytona_action action, struct error *e);
enum daytona_interval {
	DAYTONA_AUTOSTOP, /* without use, until it stops */
	DAYTONA_AUTOPAUSE,
	DAYTONA_TTL, /* from now until it is destroyed */
};
/* Rounded up to minutes. */
enum err daytona_set_interval(const struct rest *r, const struct call *call, const char *id,
	enum daytona_interval interval, int64_t seconds, struct error *e);

/* A URL for `port` that holds for a day, the longest that there is. Adds it to `out`. */
enum err daytona_port_url(const struct rest *r, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e);

/* Where the log of its image's build is. */
enum err daytona_build_log_url(const struct rest *r, const struct call *call, const char *id,
	char out[DAYTONA_TEXT_MAX], struct error *e);

/* The base URL for requests to the sandbox; `out` is allocated. */
enum err daytona_toolbox_url(const struct rest *r, const struct call *call,
	const struct daytona_sandbox *sandbox, char **out, struct error *e);

enum err daytona_list(const struct rest *r, const struct call *call, sandbox_sink sink,
	void *context, struct error *e);
