/*
 * attachment.h - a sandbox of a vendor: what the struct of every vendor begins with, and what is
 * done alike for all.
 *
 * A sandbox that was attached and that the vendor does not find any more is gone. The struct
 * remembers it, and no request is made for it again. What connecting learned answers the first
 * question for the state, because a mount asks right behind it.
 */
#pragma once

#include "providers/remote/remote.h"

#include <pthread.h>

struct attachment {
	struct provider base;
	char id[128]; /* as given, which may be a name; once found, the ID */
	char *user;   /* whose commands and files are to be; NULL: the sandbox's own */
	enum resume_mode resume;
	struct remote remote; /* once attached */
	bool has_remote;
	pthread_mutex_t lock;
	bool has_found; /* lock: what follows was learned while connecting, and nobody asked yet */
	struct sandbox_info found; /* lock: state, expires_s and warning */
};

/*
 * A vendor's struct of `size` bytes, which begins with a struct attachment; all behind that is
 * zero. NULL: no memory, as `e` says. Let go by ops->release, which begins with
 * attachment_detach() and ends with attachment_free().
 */
void *attachment_new(size_t size, const struct provider_ops *ops, const struct provider_config *cfg,
	struct error *e);
void attachment_detach(struct attachment *a);
void attachment_free(struct attachment *a);

/* Before a local that points to a vendor's struct, or is NULL: lets it go. */
#define AUTO_ATTACHMENT __attribute__((cleanup(attachment_cleanup)))
void attachment_cleanup(void *place);

/* `ops` without its context, which is the vendor's struct. As remote_attach() says. */
enum err attachment_attach(struct attachment *a, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e);

/* ---- Whether it is there ---- */

/* ERR_GONE: it is known to be gone. Without a request. */
enum err attachment_check(struct attachment *a, struct error *e);
/* Remembers that the sandbox is gone; the error is the caller's to make. */
void attachment_note_gone(struct attachment *a);
/*
 * `kind` as the vendor gave it; ERR_NOT_FOUND of an attached sandbox is remembered and becomes
 * ERR_GONE.
 */
enum err attachment_note(struct attachment *a, enum err kind, struct error *e);

/*
 * Whether a sandbox in a state such as "paused" may be started for this call. ERR_GONE: it may
 * not. The message then has the vendor's verb: what resume=access lets a mount do ("wake"), and
 * what happens at use ("wakes", "started").
 */
enum err attachment_may_wake(const struct attachment *a, const struct call *call, const char *state,
	const char *wake, const char *woken, struct error *e);

/* ---- The state at connecting ---- */

/* state, expires_s and warning. */
void attachment_remember(struct attachment *a, const struct sandbox_info *found);
/* The same; false: nothing that was not told before. */
bool attachment_recall(struct attachment *a, struct sandbox_info *out);
/* Fills in the rest. */
void attachment_describe(const struct attachment *a, struct sandbox_info *out);

/* ---- One that was made and is of no use ---- */

/* Deletes it, in a time of its own: the caller may have given up. `id` may be "": there is none. */
void attachment_discard(
	const struct provider_ops *ops, const struct provider_config *cfg, const char *id);

/* ---- Slots of the table ---- */

enum err attachment_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
enum err attachment_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
