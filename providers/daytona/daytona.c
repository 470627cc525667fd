/* The slots that remote.h needs from a vendor. */
#include "providers/daytona/daytona.h"

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* Shells read a script byte by byte, 3 MB in 1.2 s; an upload costs a second request. */
#define INLINE_MAX ((size_t)16 * 1024)
/*
 * An answer as text is a third longer, and comes when the program has ended. An answer that is
 * fetched as a file costs a second request.
 */
#define DOWNLOAD_MIN ((size_t)512 * 1024)

/* ERR_UNREACHABLE: the answer may be lost. After ERR_GONE and ERR_AUTH nothing was done. */
static enum err run_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	struct toolbox_run *run = context;
	enum err kind = toolbox_run(&daytona_of(&a->base)->toolbox, call, run, e);

	*is_done = kind == ERR_UNREACHABLE && !(run->flags & RUN_REPEATABLE);
	return kind;
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
	enum err kind = attachment_reach(context, call, run_step, &run, e);

	*exit_code = run.exit_code;
	return kind;
}

static enum err upload_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	*is_done = false;
	return toolbox_upload(&daytona_of(&a->base)->toolbox, call, context, e);
}

static enum err upload_remote(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	return attachment_reach(context, call, upload_step, (void *)upload, e);
}

struct download {
	const char *path;
	execute_sink sink;
	void *sink_context;
};

static enum err download_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	const struct download *wanted = context;
	enum err kind = toolbox_download(&daytona_of(&a->base)->toolbox, call, wanted->path,
		wanted->sink, wanted->sink_context, e);

	*is_done = kind == ERR_UNREACHABLE;
	return kind;
}

static enum err download_remote(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download wanted = { path, sink, sink_context };

	return attachment_reach(context, call, download_step, &wanted, e);
}

const struct remote_ops daytona_remote = {
	.run = run_remote,
	.upload = upload_remote,
	.download = download_remote,
	.download_min = DOWNLOAD_MIN,
	.argument_max = ARGUMENT_MAX,
	.inline_max = INLINE_MAX,
	.is_text = true,
};
