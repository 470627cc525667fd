/*
 * e2b.h - E2B (https://e2b.dev): the vendor's struct, shared by the files of this folder.
 *
 * Layers within: settings, control (the control plane), envd (the daemon in the sandbox), and over both the attachment,
 * which every verb goes through: it finds out why the daemon does not answer, wakes a paused sandbox where that is allowed,
 * and remembers one that is gone.
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

/* Opens the account; no sandbox is meant yet. */
enum err e2b_new(struct e2b **out, const struct provider_config *cfg, struct error *e);
void e2b_release(struct provider *p);
/* Says which sandbox is meant. ERR_INVALID: none, or that is no ID. */
enum err e2b_name(struct e2b *b, const char *id, struct error *e);

/* Looks for the sandbox, wakes it where that is allowed, and addresses its daemon. */
enum err e2b_find(struct e2b *b, const struct call *call, struct error *e);
/* Addresses the daemon of a sandbox as the control plane told. ERR_UNSUPPORTED: it is too old. */
enum err e2b_adopt(struct e2b *b, const struct plane_sandbox *sandbox, struct error *e);

/* What is asked of the daemon. *is_done: it may have been done, so it must not be asked again. */
typedef enum err (*e2b_step)(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e);

/*
 * Does one step. Where the daemon cannot be reached, or the token is not accepted any more, the control plane is asked
 * once why, and the step done a second time where that helps. ERR_GONE: the sandbox is gone (known without a request from
 * then on), or paused and must not be woken.
 */
enum err e2b_reach(
	struct e2b *b, const struct call *call, e2b_step step, void *context, struct error *e);

/* What the control plane says; a sandbox that is gone is remembered. E2B_DEBUG: a running one. */
enum err e2b_look(
	struct e2b *b, const struct call *call, struct plane_sandbox *out, struct error *e);
/* Wakes it. */
enum err e2b_wake(struct e2b *b, const struct call *call, struct error *e);

/* ---- e2b.c ---- */

/* Without its context, a struct e2b. */
extern const struct remote_ops e2b_remote;
