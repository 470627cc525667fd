/*
 * daytona.h - Daytona (https://www.daytona.io), the platform whose API is version 0: the vendor's struct, shared by the files
 * of this folder.
 *
 * Layers within: account (settings and key), control (the control plane), toolbox (the daemon in the sandbox), and over them
 * the attachment, which every verb goes through: it finds out why the daemon does not answer, starts a stopped sandbox where
 * that is allowed, and remembers one that is gone.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/daytona/control.h"
#include "providers/daytona/toolbox.h"

extern const struct provider_ops daytona_provider;

struct daytona {
	struct attachment at;
	struct rest_account account; /* the control plane */
	struct rest toolbox;         /* once found */
	struct daytona_sandbox seen; /* at.lock: as last told */
	int64_t seen_ms;             /* at.lock; monotonic */
};

static inline struct daytona *daytona_of(struct provider *p)
{
	return (struct daytona *)p;
}

/* ---- attachment.c: the way to the daemon ---- */

/* Opens the account; `id`: the sandbox that is meant. ERR_INVALID: none, or that is no ID. */
enum err daytona_new(
	struct daytona **out, const struct provider_config *cfg, const char *id, struct error *e);
void daytona_release(struct provider *p);

/*
 * Looks for the sandbox, waits for what it is becoming, and starts it where that is allowed: then it runs. The first time
 * its daemon is addressed; ERR_UNSUPPORTED: its user is another one. ERR_GONE: it is gone, or stopped and not to be started.
 */
enum err daytona_find(struct daytona *d, const struct call *call, struct error *e);

/* What is asked of the daemon. */
typedef enum err (*daytona_step)(
	struct daytona *d, const struct call *call, void *context, struct error *e);

/*
 * Does one step. Where the daemon is not found, or the key is not accepted any more, the control plane is asked why, and the
 * step done again where that helps; also where it cannot be reached, if it `may_repeat`. ERR_GONE: the sandbox is gone (known
 * without a request from then on), or stopped and not to be started.
 */
enum err daytona_reach(struct daytona *d, const struct call *call, bool may_repeat,
	daytona_step step, void *context, struct error *e);

/* What the control plane says; a sandbox that is gone is remembered. */
enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e);

/* The same for one that is not going to be attached; its id takes the place of its name. */
enum err daytona_know(struct daytona *d, const struct call *call, struct error *e);

/* ---- build.c ---- */

/*
 * Until its image is built, as cfg->build_log is told. ERR_IO: it cannot be, in the vendor's words.
 */
enum err daytona_wait_for_build(struct daytona *d, const struct provider_config *cfg,
	const struct call *call, struct error *e);

/* ---- daytona.c ---- */

/* Without its context, a struct daytona. */
extern const struct remote_ops daytona_remote;
