/*
 * e2b.h - E2B (https://e2b.dev): the vendor's struct, shared by the files of this folder.
 *
 * Layers within: settings, control (the control plane), envd (the daemon in the sandbox), and over both the attachment,
 * which every verb goes through: it finds out why the daemon does not answer, wakes a paused sandbox where that is allowed,
 * and remembers one that is gone.
 */
#pragma once

#include "providers/e2b/account.h"
#include "providers/e2b/envd.h"
#include "providers/provider.h"
#include "providers/remote.h"

#include <pthread.h>

extern const struct provider_ops e2b_provider;

struct daemon;

struct e2b {
	struct provider base;
	struct account account;
	char id[PLANE_ID_MAX];
	char *user; /* NULL: the sandbox's default */
	enum resume_mode resume;
	int64_t lifetime_s;
	struct remote remote; /* once attached */
	bool has_remote;
	pthread_mutex_t lock;
	struct daemon *daemon; /* lock */
	bool is_gone;          /* lock */
	bool has_found; /* lock: what follows was learned while connecting, and nobody asked yet */
	enum sandbox_state found_state;
	int64_t found_ends_s;
};

static inline struct e2b *e2b_of(struct provider *p)
{
	return (struct e2b *)p;
}

/* ---- attachment.c: the way to the daemon ---- */

/* Opens the account; no sandbox is meant yet. */
enum err e2b_new(struct e2b **out, const struct provider_config *cfg, struct error *e);
void e2b_free(struct e2b *b);
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

/* ERR_GONE: it is known that the sandbox is gone. Without a request. */
enum err e2b_check(struct e2b *b, struct error *e);
/* `kind` as the control plane gave it; ERR_NOT_FOUND of an attached sandbox is remembered and becomes ERR_GONE. */
enum err e2b_note(struct e2b *b, enum err kind, struct error *e);

/* What the control plane says; a sandbox that is gone is remembered. E2B_DEBUG: a running one. */
enum err e2b_look(
	struct e2b *b, const struct call *call, struct plane_sandbox *out, struct error *e);
/* Wakes it. */
enum err e2b_wake(struct e2b *b, const struct call *call, struct error *e);

/* ---- The slots of the table, as provider.h has them ---- */

/* lifecycle.c */
enum err e2b_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);
enum err e2b_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
enum err e2b_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e);
enum err e2b_delete(const struct provider_config *cfg, const struct call *call, struct error *e);
enum err e2b_pause(struct provider *p, const struct call *call, struct error *e);
enum err e2b_resume(struct provider *p, const struct call *call, struct error *e);
enum err e2b_extend(struct provider *p, const struct call *call, int64_t seconds, struct error *e);
enum err e2b_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);

/* files.c */
enum err e2b_upload(
	struct e2b *b, const struct call *call, const struct envd_upload *upload, struct error *e);

/* watching.c */
/* A remote_listen, whose context is the struct e2b. */
enum err e2b_listen(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);
enum err e2b_watch(struct provider *p, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e);
