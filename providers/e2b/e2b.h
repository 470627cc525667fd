/*
 * e2b.h - E2B (https://e2b.dev): the vendor's struct, shared by the files of this folder.
 *
 * Layers within: settings, control (the control plane), envd (the daemon in the sandbox), and over
 * both the attachment, which every verb goes through. The attachment finds out why the daemon does
 * not answer, wakes a paused sandbox where a wake is allowed, and remembers a sandbox that is gone.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/e2b/account.h"
#include "providers/e2b/envd.h"

extern const struct provider_ops e2b_provider;

struct daemon;

struct e2b {
	struct attachment at;
	struct account account;
	int64_t lifetime_s;
	struct daemon *daemon; /* at.lock */
};

static inline struct e2b *e2b_of(struct provider *p)
{
	return (struct e2b *)p;
}

/* ---- attachment.c: the way to the daemon ---- */

/* Opens the account. The sandbox follows with e2b_name(). */
enum err e2b_new(struct e2b **out, const struct provider_config *cfg, struct error *e);
void e2b_release(struct provider *p);
/* Sets the sandbox's ID. ERR_INVALID: `id` is NULL, or no ID. */
enum err e2b_name(struct e2b *b, const char *id, struct error *e);

/* Looks for the sandbox, wakes it where a wake is allowed, and addresses its daemon. */
enum err e2b_find(struct e2b *b, const struct call *call, struct error *e);
/*
 * Addresses the sandbox's daemon by the control plane's answer. ERR_UNSUPPORTED: the daemon is too
 * old.
 */
enum err e2b_adopt(struct e2b *b, const struct plane_sandbox *sandbox, struct error *e);

/* One request to the daemon. *is_done: the daemon may have acted, so the step is not repeated. */
typedef enum err (*e2b_step)(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e);

/*
 * Does one step. Where the daemon cannot be reached, or does not accept the token any more, the
 * control plane is asked once why, and the step is done a second time where that can help.
 * ERR_GONE: the sandbox is paused and must not be woken, or it is gone. A later call for a sandbox
 * that is gone fails without a request.
 */
enum err e2b_reach(
	struct e2b *b, const struct call *call, e2b_step step, void *context, struct error *e);

/*
 * Asks the control plane about the sandbox, and remembers a sandbox that is gone. E2B_DEBUG: the
 * sandbox counts as running.
 */
enum err e2b_look(
	struct e2b *b, const struct call *call, struct plane_sandbox *out, struct error *e);
/* Wakes the sandbox, and addresses its daemon. */
enum err e2b_wake(struct e2b *b, const struct call *call, struct error *e);

/* ---- e2b.c ---- */

/* The slots for remote.h, without the context, which is a struct e2b. */
extern const struct remote_ops e2b_remote;
