/*
 * langsmith.h - the provider: sandboxes of LangSmith.
 *
 *      where it is, and the key         account.c
 *      what answers mean                verdict.c
 *      the control plane                box.c, box_api.c
 *      is it there, and awake?          attachment.c
 *      running a program                run.c
 *      files                            files.c (up), download.c
 *      slots of the table               lifecycle.c, capture.c
 *      what remote.h needs              langsmith.c
 *
 * The control plane is asked when a mount begins, and gives the data plane's address. All else goes
 * to the data plane, as execute, upload and download over HTTP. Execute has no id there, so a
 * program that may have run is only run again where a second run does no harm. (Over a WebSocket
 * execute has an id. Nothing here needs it: commands are recorded inside the sandbox.)
 *
 * A request on the data plane starts a sandbox that has stopped. So the control plane is asked
 * first whenever the sandbox may have stopped: this provider did not use it for as long as it may
 * be idle, or stopped it. Before a background call the control plane is asked unless an answer just
 * showed that the sandbox runs. A stopped sandbox is not started for a background call, nor under
 * resume=never.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/langsmith/account.h"
#include "providers/langsmith/box.h"

struct langsmith {
	struct attachment at; /* at.lock guards the fields behind `data` */
	struct rest_account account;
	struct rest data; /* the data plane; set once attached */
	bool is_stopped;
	/*
	 * When an answer last showed that the sandbox runs, by the monotonic clock; 0: the last
	 * answer was a failure, or took too long to show it.
	 */
	int64_t ran_ms;
	struct box found; /* the sandbox in the control plane's last answer */
	int64_t used_ms;  /* when the data plane was last used, by the monotonic clock */
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

/* The slots for remote.h, without the context, which is a struct langsmith. */
extern const struct remote_ops langsmith_remote;

/* ---- attachment.c ---- */

extern const struct attachment_ops langsmith_attachment;
/* attachment_look(), and the sandbox as it is then known. */
enum err langsmith_look(
	struct langsmith *l, const struct call *call, struct box *out, struct error *e);
/* Notes that this provider stopped the sandbox. */
void langsmith_note_stopped(struct langsmith *l);

typedef enum err (*langsmith_step)(
	struct langsmith *l, const struct call *call, void *context, struct error *e);
/*
 * attachment_reach(), as soon as a request may be sent to the sandbox. A step may return ERR_GONE
 * only if nothing was done.
 */
enum err langsmith_reach(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e);

/* ---- run.c, files.c, download.c: slots of struct remote_ops; `context`: struct langsmith ---- */

enum err langsmith_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e);
enum err langsmith_upload(void *context, const struct call *call,
	const struct remote_upload *upload, struct error *e);

enum err langsmith_download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e);

/*
 * Runs a program as the sandbox's own user. A second run must do no harm, and the program's output
 * is ignored.
 */
enum err langsmith_do(struct langsmith *l, const struct call *call, const char *const *argv,
	int *exit_code, struct error *e);

/* ---- capture.c: slots of the table ---- */

enum err langsmith_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
enum err langsmith_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e);
enum err langsmith_delete_snapshot(const struct provider_config *cfg, const struct call *call,
	const char *id, struct error *e);
