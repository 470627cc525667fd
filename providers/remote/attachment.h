/*
 * attachment.h - a sandbox of a vendor: the beginning of every vendor's struct, and functions that
 * are the same for all.
 *
 * A sandbox that was attached and that the vendor does not find any more is gone. The struct
 * records that, and no request is made for the sandbox again. The facts that connecting learned
 * answer the first question for the state, because a mount asks right after connecting.
 */
#pragma once

#include "providers/remote/remote.h"

#include <pthread.h>

struct attachment {
	struct provider base;
	char id[128]; /* as given, possibly a name; the ID once found */
	char *user;   /* the user of commands and files; NULL: the sandbox's own */
	enum resume_mode resume;
	struct remote remote; /* valid once attached */
	bool has_remote;
	pthread_mutex_t lock;
	bool has_found; /* lock; `found` was learned while connecting, and was not asked for yet */
	struct sandbox_info found; /* lock; state, expires_s and warning */
};

/*
 * A vendor's struct of `size` bytes, which begins with a struct attachment; all behind that is
 * zero. NULL: no memory, as `e` says. Released by ops->release, which begins with
 * attachment_detach() and ends with attachment_free().
 */
void *attachment_new(size_t size, const struct provider_ops *ops, const struct provider_config *cfg,
	struct error *e);
void attachment_detach(struct attachment *a);
void attachment_free(struct attachment *a);

/* For a local that points to a vendor's struct, or is NULL: releases it. */
#define AUTO_ATTACHMENT __attribute__((cleanup(attachment_cleanup)))
void attachment_cleanup(void *place);

/* `ops` has no context: the vendor's struct is the context. Otherwise as remote_attach(). */
enum err attachment_attach(struct attachment *a, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e);

/* ---- Whether the sandbox exists ---- */

/* ERR_GONE: the sandbox is known to be gone. Makes no request. */
enum err attachment_check(struct attachment *a, struct error *e);
/* Records that the sandbox is gone; the caller makes the error. */
void attachment_note_gone(struct attachment *a);
/*
 * `kind` is the vendor's error. ERR_NOT_FOUND of an attached sandbox is recorded and becomes
 * ERR_GONE.
 */
enum err attachment_note(struct attachment *a, enum err kind, struct error *e);

/*
 * Whether a sandbox in a state such as "paused" may be started for this call. ERR_GONE: it may not.
 * The message then has the vendor's verbs: for resume=access ("wake"), and for a use of the mount
 * ("wakes", "started").
 */
enum err attachment_may_wake(const struct attachment *a, const struct call *call, const char *state,
	const char *wake, const char *woken, struct error *e);

/* ---- The state at connecting ---- */

/* Keeps state, expires_s and warning of `found`. */
void attachment_remember(struct attachment *a, const struct sandbox_info *found);
/*
 * The facts that attachment_remember() kept; false: there are none, or they were returned before.
 */
bool attachment_take_found(struct attachment *a, struct sandbox_info *out);
/* Fills in the other fields. */
void attachment_describe(const struct attachment *a, struct sandbox_info *out);

/* ---- A new sandbox that cannot be used ---- */

/*
 * Deletes the sandbox, with a deadline of its own: the caller may have given up. `id` may be "":
 * there is none.
 */
void attachment_discard(
	const struct provider_ops *ops, const struct provider_config *cfg, const char *id);

/* ---- Slots of the table ---- */

enum err attachment_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
enum err attachment_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
