#include "providers/daytona/daytona.h"

#include "providers/base/cleanup.h"
#include "providers/daytona/wish.h"
#include "providers/remote_command.h"
#include "providers/remote_watch.h"

#include <string.h>

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* Shells read a script byte by byte, 3 MB in 1.2 s; an upload beside it costs a second request. */
#define INLINE_MAX ((size_t)16 * 1024)
/* As text an answer is a third longer and waits for its end; to fetch it as a file costs a second request. */
#define DOWNLOAD_MIN ((size_t)512 * 1024)

/* ---- What remote.h needs of a vendor ---- */

static enum err run_step(struct daytona *d, const struct call *call, void *context, struct error *e)
{
	return toolbox_run(&d->toolbox, call, context, e);
}

static enum err run_remote(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct toolbox_run run = { .argv = argv,
		.flags = flags,
		.upload = upload,
		.sink = sink,
		.sink_context = sink_context };
	enum err kind = daytona_reach(context, call, flags & RUN_REPEATABLE, run_step, &run, e);

	*exit_code = run.exit_code;
	return kind;
}

static enum err upload_step(
	struct daytona *d, const struct call *call, void *context, struct error *e)
{
	return toolbox_upload(&d->toolbox, call, context, e);
}

static enum err upload_remote(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	return daytona_reach(context, call, true, upload_step, (void *)upload, e);
}

struct download {
	const char *path;
	execute_sink sink;
	void *sink_context;
};

static enum err download_step(
	struct daytona *d, const struct call *call, void *context, struct error *e)
{
	const struct download *wanted = context;

	return toolbox_download(
		&d->toolbox, call, wanted->path, wanted->sink, wanted->sink_context, e);
}

static enum err download_remote(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download wanted = { path, sink, sink_context };

	return daytona_reach(context, call, false, download_step, &wanted, e);
}

/* ---- Attaching ---- */

static void daytona_release(struct provider *p)
{
	struct daytona *d = daytona_of(p);

	if (d->has_remote)
		remote_release(&d->remote);
	daytona_free(d);
}

/* Programs begin where the image says; the script finds out where that is. */
static enum err attach(struct daytona *d, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	const struct remote_ops ops = { .run = run_remote,
		.upload = upload_remote,
		.download = download_remote,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true,
		.context = d };
	enum err kind = remote_attach(&d->remote, &ops, cfg, ".", call, e);

	if (kind)
		return kind;
	d->has_remote = true;
	remote_lend(&d->remote, &d->base);
	return ERR_OK;
}

static enum err daytona_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct daytona *d;
	enum err kind = daytona_new(&d, cfg, cfg->id, e);

	if (kind)
		return kind;
	kind = cfg->account_only ? daytona_know(d, call, e) : daytona_find(d, call, e);
	if (!kind && !cfg->account_only)
		kind = attach(d, cfg, call, e);
	if (kind)
		daytona_release(&d->base);
	else
		*out = &d->base;
	return kind;
}

static enum err daytona_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&daytona_of(p)->remote, call, request, sink, context, result, e);
}

static enum err daytona_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	return remote_watch(&daytona_of(p)->remote, "daytona", call, request, sink, context, e);
}

/* list, fetch and apply are the helper's: the daemon follows links, does not show broken ones and replaces nothing whole. */
const struct provider_ops daytona_provider = {
	.name = "daytona",
	.title = "Daytona",
	.key_names = "DAYTONA_API_KEY",
	.caps = PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = WISH_OPTIONS,
	.connect_options = OPTION_LIFETIME | OPTION_USER | OPTION_RESUME_NEVER,
	.create = daytona_create,
	.connect = daytona_connect,
	.release = daytona_release,
	.info = daytona_info,
	.list_sandboxes = daytona_list_sandboxes,
	.delete = daytona_delete,
	.pause = daytona_pause,
	.resume = daytona_resume,
	.extend = daytona_extend,
	.url = daytona_url,
	.execute = daytona_execute,
	.watch = daytona_watch,
};
