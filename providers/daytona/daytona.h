/*
 * daytona.h - Daytona (https://www.daytona.io), the platform whose API is version 0: the vendor's struct, shared by the files
 * of this folder.
 *
 * Layers within: account (settings and key), control (the control plane), toolbox (the daemon in the sandbox), and over them
 * the attachment, which every verb goes through: it finds out why the daemon does not answer, starts a stopped sandbox where
 * that is allowed, and remembers one that is gone.
 */
#pragma once

#include "providers/daytona/control.h"
#include "providers/daytona/toolbox.h"

#include <pthread.h>

extern const struct provider_ops daytona_provider;

struct daytona {
	struct provider base;
	struct daytona_account account;
	struct rest toolbox; /* once found */
	char *id;            /* as given, which may be a name; once found, the ID */
	char *user;          /* whose the commands are to be; NULL: whoever's they are */
	enum resume_mode resume;
	struct remote remote; /* once attached */
	bool has_remote;
	pthread_mutex_t lock;
	bool is_gone;       /* lock */
	int64_t autostop_s; /* lock: as last told; 0: it does not stop by itself */
	bool has_found; /* lock: what follows was learned while connecting, and nobody asked yet */
	enum sandbox_state found_state;
	int64_t found_expires_s;
};

static inline struct daytona *daytona_of(struct provider *p)
{
	return (struct daytona *)p;
}

/* ---- attachment.c: the way to the daemon ---- */

/* Opens the account; `id`: the sandbox that is meant. ERR_INVALID: none, or that is no ID. */
enum err daytona_new(
	struct daytona **out, const struct provider_config *cfg, const char *id, struct error *e);
void daytona_free(struct daytona *d);

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

/* ERR_GONE: it is known that the sandbox is gone. Without a request. */
enum err daytona_check(struct daytona *d, struct error *e);
/* `kind` as the control plane gave it; ERR_NOT_FOUND of an attached sandbox is remembered and becomes ERR_GONE. */
enum err daytona_note(struct daytona *d, enum err kind, struct error *e);

/* What the control plane says; a sandbox that is gone is remembered. */
enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e);

/* The same for one that is not going to be attached; its id takes the place of its name. */
enum err daytona_know(struct daytona *d, const struct call *call, struct error *e);

/* ---- The slots of the table, as provider.h has them: lifecycle.c ---- */

enum err daytona_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);
enum err daytona_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
enum err daytona_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e);
enum err daytona_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e);
enum err daytona_pause(struct provider *p, const struct call *call, struct error *e);
enum err daytona_resume(struct provider *p, const struct call *call, struct error *e);
enum err daytona_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e);
enum err daytona_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);
