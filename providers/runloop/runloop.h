/*
 * runloop.h - the provider: devboxes of Runloop.
 *
 * Commands and files go through the API like everything else; the helper program does list, fetch
 * and apply. A suspended devbox is resumed by any use of a user's, and by nothing else.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/runloop/devbox.h"
#include "providers/runloop/evictions.h"

struct runloop {
	struct attachment at;
	struct rest_account api;
	struct devbox seen; /* at.lock; the devbox in the last answer about it */
	int64_t kept_ms;    /* at.lock; the monotonic time of the last keep_alive; 0: never */
	struct evictions *evictions; /* notices for a mount; NULL: not watched */
};

extern const struct provider_ops runloop_provider;

static inline struct runloop *runloop_of(struct provider *p)
{
	return (struct runloop *)p;
}

/* ---- runloop.c ---- */

/* cfg->id, an ID or a name, may be NULL. */
enum err runloop_new(struct runloop **out, const struct provider_config *cfg, struct error *e);
void runloop_release(struct provider *p);

/* ---- name.c ---- */

/*
 * Replaces a name in b->at.id by its ID; only devboxes that have not ended are looked at.
 * ERR_NOT_FOUND: no devbox has that name or ID. ERR_INVALID: several have the name, or it is empty.
 */
enum err runloop_resolve(struct runloop *b, const struct call *call, struct error *e);

/* ---- attachment.c ---- */

extern const struct attachment_ops runloop_attachment;
/* The devbox in the last answer, without a request. */
void runloop_seen(struct runloop *b, struct devbox *out);

/* ---- run.c ---- */

/* All fields but the context, which is a struct runloop. */
extern const struct remote_ops runloop_remote;

/* ---- create.c: a slot of the table ---- */

enum err runloop_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);

/* ---- snapshot.c: slots of the table ---- */

enum err runloop_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
enum err runloop_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e);
enum err runloop_delete_snapshot(const struct provider_config *cfg, const struct call *call,
	const char *id, struct error *e);
