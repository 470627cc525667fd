/*
 * daytona.h - Daytona (https://www.daytona.io), the platform whose API is version 0: the vendor's
 * struct, shared by the files of this folder.
 *
 * Layers within: account (settings and key), control (the control plane), toolbox (the daemon in
 * the sandbox), and over them the attachment, which every verb goes through. The attachment finds
 * out why the daemon does not answer, starts a stopped sandbox where a start is allowed, and
 * remembers a sandbox that is gone.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/daytona/control.h"
#include "providers/daytona/toolbox.h"

extern const struct provider_ops daytona_provider;

struct daytona {
	struct attachment at;
	struct rest_account account; /* the control plane */
	struct rest toolbox;         /* the daemon; set once the sandbox is found */
	struct daytona_sandbox seen; /* at.lock: the sandbox in the control plane's last answer */
	int64_t seen_ms;             /* at.lock; the time of that answer, monotonic */
};

static inline struct daytona *daytona_of(struct provider *p)
{
	return (struct daytona *)p;
}

/* ---- attachment.c: the way to the daemon ---- */

/* Opens the account for the sandbox `id`. ERR_INVALID: `id` is NULL, empty or too long. */
enum err daytona_new(
	struct daytona **out, const struct provider_config *cfg, const char *id, struct error *e);
void daytona_release(struct provider *p);

/*
 * Looks for the sandbox, waits while its state changes, and starts it where a start is allowed. On
 * success the sandbox runs. The first call also addresses the daemon; ERR_UNSUPPORTED: the sandbox
 * was made for another user. ERR_GONE: the sandbox is gone, or stopped and must not be started.
 */
enum err daytona_find(struct daytona *d, const struct call *call, struct error *e);

/* One request to the daemon. */
typedef enum err (*daytona_step)(
	struct daytona *d, const struct call *call, void *context, struct error *e);

/*
 * Does one step. Where the daemon is not found, or the key is not accepted any more, the control
 * plane is asked why, and the step is done again where that can help. The same holds for a daemon
 * that cannot be reached, if the step `may_repeat`. ERR_GONE: the sandbox is stopped and must not
 * be started, or it is gone. A later call for a sandbox that is gone fails without a request.
 */
enum err daytona_reach(struct daytona *d, const struct call *call, bool may_repeat,
	daytona_step step, void *context, struct error *e);

/* Asks the control plane about the sandbox, and remembers a sandbox that is gone. */
enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e);

/* daytona_see() for a sandbox that will not be attached. The ID takes the place of the name. */
enum err daytona_know(struct daytona *d, const struct call *call, struct error *e);

/* ---- build.c ---- */

/*
 * Waits until the sandbox's image is built, and reports the progress to cfg->build_log. ERR_IO: the
 * image cannot be built, with the vendor's words.
 */
enum err daytona_wait_for_build(struct daytona *d, const struct provider_config *cfg,
	const struct call *call, struct error *e);

/* ---- daytona.c ---- */

/* The slots for remote.h, without the context, which is a struct daytona. */
extern const struct remote_ops daytona_remote;
