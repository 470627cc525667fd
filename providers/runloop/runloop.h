/*
 * runloop.h - the provider: devboxes of Runloop.
 *
 * Commands and files go through the API like everything else; the helper program does list, fetch and apply. A devbox that
 * is suspended is resumed by whatever a user does, and by nothing else.
 */
#pragma once

#include "providers/remote.h"
#include "providers/runloop/devbox.h"

#include <pthread.h>

struct runloop {
	struct provider base;
	struct devbox_api api;
	char id[128];
	enum resume_mode resume;
	struct remote remote;
	bool has_remote;
	pthread_mutex_t lock; /* guards what follows */
	bool is_gone;
	bool has_found;      /* `found` was not told to anybody yet */
	struct devbox found; /* as attaching saw it */
	int64_t kept_ms;     /* of the monotonic clock: when it was kept alive last; 0: never */
};

extern const struct provider_ops runloop_provider;

static inline struct runloop *runloop_of(struct provider *p)
{
	return (struct runloop *)p;
}

/* cfg->id, an ID or a name, may be NULL. Freed with runloop_free(), which the remote must have been released before. */
enum err runloop_new(struct runloop **out, const struct provider_config *cfg, struct error *e);
void runloop_free(struct runloop *b);

/* ---- runloop_name.c ---- */

/*
 * Has b->id be an ID where it is a name: of the devboxes that have not ended. ERR_NOT_FOUND: it is neither. ERR_INVALID:
 * several have the name, or it is empty.
 */
enum err runloop_resolve(struct runloop *b, const struct call *call, struct error *e);

/* ---- runloop_reach.c ---- */

/* ERR_GONE: it is known to be gone, so nothing is asked. */
enum err runloop_check(struct runloop *b, struct error *e);
/* How it is. One that has ended, or is not known any more once it was attached, is ERR_GONE from then on. */
enum err runloop_look(
	struct runloop *b, const struct call *call, struct devbox *out, struct error *e);
/* Until it runs, whatever it did. Resumes it. */
enum err runloop_wake(struct runloop *b, const struct call *call, struct error *e);
/* Looks, and has it run: waits for one that starts, and resumes one that is suspended where that is allowed. */
enum err runloop_find(struct runloop *b, const struct call *call, struct error *e);

/* *is_done: it may have been done, so it must not be done again. */
typedef enum err (*runloop_step)(
	struct runloop *b, const struct call *call, void *context, bool *is_done, struct error *e);
/* Does the step, and once more when it was refused because the devbox was suspended. */
enum err runloop_reach(struct runloop *b, const struct call *call, runloop_step step, void *context,
	struct error *e);

/* ---- runloop_run.c: what remote.h needs of a vendor, and a slot of the table ---- */

enum err runloop_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e);
/* A remote_listen, whose context is the struct runloop. */
enum err runloop_listen(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);
enum err runloop_upload(void *context, const struct call *call, const struct remote_upload *upload,
	struct error *e);
enum err runloop_download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e);

enum err runloop_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);

/* ---- runloop_create.c, runloop_life.c: slots of the table ---- */

enum err runloop_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);
enum err runloop_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
enum err runloop_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e);
enum err runloop_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e);
enum err runloop_pause(struct provider *p, const struct call *call, struct error *e);
enum err runloop_resume(struct provider *p, const struct call *call, struct error *e);
enum err runloop_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e);
enum err runloop_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);
