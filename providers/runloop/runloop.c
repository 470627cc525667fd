#include "providers/runloop/runloop.h"

#include "providers/base/cleanup.h"
#include "providers/remote_command.h"
#include "providers/remote_text.h"
#include "providers/runloop/devbox_execution.h"
#include "providers/runloop/devbox_files.h"

#include <stdio.h>
#include <string.h>

/* Linux's longest argument; the whole command may be no longer. */
#define ARGUMENT_MAX 131071
/* As text it is a third more, and a command has paths beside it. */
#define INLINE_MAX ((size_t)64 * 1024)
/* From here on the third more that text needs costs more than the second request that a file needs. */
#define DOWNLOAD_MIN ((size_t)256 * 1024)

/* ---- What remote.h needs of a vendor ---- */

struct run {
	struct execution execution;
	unsigned flags; /* enum run_flags */
	execute_sink sink;
	void *sink_context;
	bool has_output;
};

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct run *run = context;

	run->has_output = run->has_output || len;
	return run->sink(run->sink_context, stream, bytes, len, e);
}

static enum err run_step(
	struct runloop *b, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct run *run = context;
	bool may_repeat = run->flags & RUN_REPEATABLE;
	enum err kind;

	kind = execution_run(&run->execution, &b->api.rest, call, e);
	*is_done = run->has_output || (run->execution.has_started && !may_repeat);
	/* Its status for a directory that is not there is not known. */
	return kind == ERR_INVALID && run->execution.upload ? ERR_NOT_FOUND : kind;
}

static enum err run_remote(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct runloop *b = context;
	AUTO_BUF struct buf text = BUF_INIT((size_t)4 * EXECUTION_COMMAND_MAX);
	struct run run = { .flags = flags, .sink = sink, .sink_context = sink_context };
	enum err kind;

	remote_text_add(&text, argv);
	kind = buf_check(&text, "a command", e);
	if (kind)
		return kind;
	run.execution = (struct execution){ .id = b->id,
		.command = buf_text(&text),
		.upload = upload,
		.sink = pass_on,
		.sink_context = &run };
	kind = runloop_reach(b, call, run_step, &run, e);
	*exit_code = run.execution.exit_code;
	return kind;
}

static enum err upload_step(
	struct runloop *b, const struct call *call, void *context, bool *is_done, struct error *e)
{
	const struct remote_upload *upload = context;
	enum err kind = devbox_store(&b->api.rest, call, b->id, upload, e);

	*is_done = false;
	return kind == ERR_INVALID ? ERR_NOT_FOUND : kind;
}

static enum err upload_remote(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	struct remote_upload copy = *upload;

	return runloop_reach(context, call, upload_step, &copy, e);
}

struct download {
	const char *path;
	struct run run;
};

static enum err download_step(
	struct runloop *b, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct download *d = context;
	enum err kind = devbox_fetch(&b->api.rest, call, b->id, d->path, pass_on, &d->run, e);

	*is_done = d->run.has_output;
	return kind;
}

static enum err download_remote(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download d = { .path = path, .run = { .sink = sink, .sink_context = sink_context } };

	return runloop_reach(context, call, download_step, &d, e);
}

/* ---- Attaching ---- */

static enum err runloop_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&runloop_of(p)->remote, call, request, sink, context, result, e);
}

void runloop_free(struct runloop *b)
{
	devbox_api_close(&b->api);
	pthread_mutex_destroy(&b->lock);
	free(b->shell);
	free(b);
}

static enum err fill(struct runloop *b, const struct provider_config *cfg, struct error *e)
{
	enum err kind = devbox_api_open(&b->api, cfg, e);

	if (kind)
		return kind;
	if (cfg->id && !devbox_is_id(cfg->id))
		return error_set(e, ERR_INVALID,
			"runloop: '%.100s' is no devbox ID: they are letters, digits, _ and -",
			cfg->id);
	snprintf(b->id, sizeof b->id, "%s", cfg->id ? cfg->id : "");
	b->resume = cfg->resume;
	b->shell = strdup(cfg->shell ? cfg->shell : "sh");
	return b->shell ? ERR_OK : error_set(e, ERR_NO_MEMORY, "runloop");
}

enum err runloop_new(struct runloop **out, const struct provider_config *cfg, struct error *e)
{
	struct runloop *b = calloc(1, sizeof *b);
	enum err kind;

	if (!b)
		return error_set(e, ERR_NO_MEMORY, "runloop");
	b->base.ops = &runloop_provider;
	pthread_mutex_init(&b->lock, NULL);
	kind = fill(b, cfg, e);
	if (kind)
		runloop_free(b);
	else
		*out = b;
	return kind;
}

static void runloop_release(struct provider *p)
{
	struct runloop *b = runloop_of(p);

	if (b->has_remote)
		remote_release(&b->remote);
	runloop_free(b);
}

static enum err attach(struct runloop *b, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	const struct remote_ops ops = { .run = run_remote,
		.upload = upload_remote,
		.download = download_remote,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true,
		.context = b };
	enum err kind = remote_attach(&b->remote, &ops, cfg, NULL, call, e);

	if (kind)
		return kind;
	b->has_remote = true;
	b->base.root = b->remote.root;
	b->base.staging = b->remote.staging;
	b->base.helper = b->remote.helper;
	b->base.shell = b->shell;
	return ERR_OK;
}

static enum err runloop_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct runloop *b;
	enum err kind = runloop_new(&b, cfg, e);

	if (kind)
		return kind;
	if (!*b->id)
		kind = error_set(e, ERR_INVALID, "runloop: no devbox ID given");
	if (!kind)
		kind = runloop_find(b, call, e);
	if (!kind)
		kind = attach(b, cfg, call, e);
	if (kind)
		runloop_release(&b->base);
	else
		*out = &b->base;
	return kind;
}

const struct provider_ops runloop_provider = {
	.name = "runloop",
	.title = "Runloop",
	.key_names = "RUNLOOP_API_KEY",
	.create_options = OPTION_TEMPLATE | OPTION_LIFETIME,
	.connect_options = OPTION_LIFETIME | OPTION_RESUME_NEVER,
	.create = runloop_create,
	.connect = runloop_connect,
	.release = runloop_release,
	.info = runloop_info,
	.list_sandboxes = runloop_list_sandboxes,
	.delete = runloop_delete,
	.pause = runloop_pause,
	.resume = runloop_resume,
	.extend = runloop_extend,
	.execute = runloop_execute,
};
