/*
 * langsmith.h - the provider: sandboxes of LangSmith.
 *
 *      where it is, and the key         account.c
 *      what answers mean                verdict.c
 *      the control plane                box.c, box_api.c
 *      is it there, and awake?          attachment.c
 *      running a program                run.c
 *      files                            files.c (up), download.c
 *      slots of the table               lifecycle.c
 *      what remote.h needs              langsmith.c
 *
 * The control plane is asked when a mount begins; everything else goes to the data plane, whose address it gives, as
 * execute, upload and download over HTTP. Execute has no id there, so what may have run is only run again where that
 * does no harm. (It has one over a WebSocket. Nothing here needs that: commands are recorded inside the sandbox.)
 *
 * A request on the data plane starts a sandbox that has stopped. So before one that nobody waits for, or under
 * resume=never, the control plane is asked first whenever the sandbox may have stopped meanwhile: nobody used it from here
 * for as long as it may be idle.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/langsmith/account.h"
#include "providers/langsmith/box.h"

struct langsmith {
	struct attachment at; /* its lock guards what follows `data` */
	struct rest_account account;
	struct rest data; /* once attached */
	bool is_stopped;
	int64_t ran_ms; /* of the monotonic clock: when an answer last showed that it runs; 0: none since a failure */
	struct box found; /* as the control plane showed it last */
	int64_t used_ms;  /* of the monotonic clock: the last request on the data plane */
};

extern const struct provider_ops langsmith_provider;

static inline struct langsmith *langsmith_of(struct provider *p)
{
	return (struct langsmith *)p;
}

/* ---- langsmith.c ---- */

/* cfg->id may be NULL. */
enum err langsmith_new(struct langsmith **out, const struct provider_config *cfg, struct error *e);
void langsmith_release(struct provider *p);

/* Without its context, a struct langsmith. */
extern const struct remote_ops langsmith_remote;

/* ---- attachment.c ---- */

/*
 * How it is. One that failed, is being deleted, or is not known any more once it was attached, is ERR_GONE from then on,
 * without a request.
 */
enum err langsmith_look(
	struct langsmith *l, const struct call *call, struct box *out, struct error *e);
/* Until it is ready, whatever it did. */
enum err langsmith_wake(struct langsmith *l, const struct call *call, struct error *e);
/* Looks, has it be ready where that is allowed, and opens the way to its data plane. */
enum err langsmith_find(struct langsmith *l, const struct call *call, struct error *e);
/* It was stopped at our word. */
void langsmith_note_stopped(struct langsmith *l);
/* As provider.h describes a sandbox, with the use that is known here: state, expires_s, warning. */
void langsmith_describe(struct langsmith *l, const struct box *b, struct sandbox_info *out);

typedef enum err (*langsmith_step)(
	struct langsmith *l, const struct call *call, void *context, struct error *e);
/*
 * Does the step, once the sandbox may be asked; and once more where ERR_GONE was wrong. So ERR_GONE of a step says that
 * nothing was done.
 */
enum err langsmith_reach(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e);

/* ---- run.c, files.c, download.c: the slots of a struct remote_ops; `context` is a struct langsmith ---- */

enum err langsmith_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e);
enum err langsmith_upload(void *context, const struct call *call,
	const struct remote_upload *upload, struct error *e);

enum err langsmith_download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e);

/* As the sandbox's own user, what does no harm when it is done twice and says nothing that matters. */
enum err langsmith_do(struct langsmith *l, const struct call *call, const char *const *argv,
	int *exit_code, struct error *e);
