/*
 * daytona.h - Daytona (https://www.daytona.io), the platform whose API is version 0: the vendor's
 * struct, shared by the files of this folder.
 *
 * Layers within: account (settings and key), control (the control plane), toolbox (the daemon in
 * the sandbox), and over them the attachment, which every verb goes through.
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

/* attachment_look(), and the sandbox as it is then known. */
enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e);
/* The sandbox in the control plane's last answer, without a request. destroyed_s: from now. */
void daytona_seen(struct daytona *d, struct daytona_sandbox *out);

/* attachment_look() for a sandbox that will not be attached. The ID takes the place of the name. */
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

/* ---- snapshot.c: slots of the table ---- */

enum err daytona_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
enum err daytona_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e);
enum err daytona_delete_snapshot(const struct provider_config *cfg, const struct call *call,
	const char *id, struct error *e);
enum err daytona_fork(struct provider *p, const struct call *call, char id[128], struct error *e);
