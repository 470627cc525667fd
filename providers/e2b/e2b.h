/*
 * e2b.h - E2B (https://e2b.dev): the vendor's struct, shared by the files of this folder.
 *
 * Layers within: settings, control (the control plane), envd (the daemon in the sandbox), and over
 * both the attachment, which every verb goes through.
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
	struct daemon *daemon;        /* at.lock */
	struct plane_sandbox seen;    /* at.lock; the sandbox in the last answer, with its key */
	uint64_t questions, answered; /* at.lock; how many began, and the number of that answer's */
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

/*
 * Addresses the sandbox's daemon by the control plane's answer. ERR_UNSUPPORTED: the daemon is too
 * old.
 */
enum err e2b_adopt(struct e2b *b, const struct plane_sandbox *sandbox, struct error *e);

/* One request to the daemon. *is_done: the daemon may have acted, so the step is not repeated. */
typedef enum err (*e2b_step)(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e);

/*
 * attachment_reach() with the daemon. Without a control plane, as with E2B_DEBUG, no reason is
 * asked for.
 */
enum err e2b_reach(
	struct e2b *b, const struct call *call, e2b_step step, void *context, struct error *e);

/* The sandbox in the control plane's last answer, without a request. */
void e2b_seen(struct e2b *b, struct plane_sandbox *out);
/* Connects to the daemon's usual address while the control plane answers: saves a round trip. */
void e2b_preconnect(struct e2b *b);
/* A slot of the table: wakes the sandbox, or gives it more time. */
enum err e2b_resume(struct provider *p, const struct call *call, struct error *e);

/* ---- e2b.c ---- */

/* The slots for remote.h, without the context, which is a struct e2b. */
extern const struct remote_ops e2b_remote;
