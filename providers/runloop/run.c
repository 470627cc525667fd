#include "providers/base/cleanup.h"
#include "providers/remote/text.h"
#include "providers/runloop/devbox_execution.h"
#include "providers/runloop/files.h"
#include "providers/runloop/runloop.h"

#include <limits.h>

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* A file as text takes a third more, and the whole command has the limit of one argument. */
#define INLINE_MAX ((size_t)64 * 1024)
/*
 * At this size the third more that text takes costs more than the second request that a file takes.
 */
#define DOWNLOAD_MIN ((size_t)256 * 1024)
/*
 * A program's arguments are at most as many bytes as Linux takes, and each byte is up to four
 * characters of text.
 */
#define TEXT_MAX ((size_t)4 * 4 * 1024 * 1024)

/* A program that is run, or a file that is read. */
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

/* ---- Files ---- */

static const struct rest *rest_of(struct attachment *a)
{
	return &runloop_of(&a->base)->api.rest;
}

static enum err upload_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	enum err kind = devbox_store(rest_of(a), call, a->id, context, e);

	*is_done = false;
	return kind == ERR_INVALID ? ERR_NOT_FOUND : kind;
}

static enum err runloop_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	return attachment_reach(context, call, upload_step, (void *)upload, e);
}

struct download {
	const char *path;
	struct run run;
};

static enum err download_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	struct download *d = context;
	enum err kind = devbox_fetch(rest_of(a), call, a->id, d->path, pass_on, &d->run, e);

	*is_done = d->run.has_output;
	return kind;
}

static enum err runloop_download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download d = { .path = path, .run = { .sink = sink, .sink_context = sink_context } };

	return attachment_reach(context, call, download_step, &d, e);
}

/* ---- A program ---- */

static enum err run_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	struct run *run = context;
	bool may_repeat = run->flags & RUN_REPEATABLE;
	enum err kind = execution_run(&run->execution, rest_of(a), call, e);

	*is_done = run->has_output || (run->execution.has_started && !may_repeat);
	/* The service's status for a missing directory is not known. */
	return kind == ERR_INVALID && run->execution.upload ? ERR_NOT_FOUND : kind;
}

static enum err run_text(struct runloop *b, const struct call *call, const char *text,
	const struct remote_upload *upload, struct run *run, int *exit_code, struct error *e)
{
	enum err kind;

	run->execution = (struct execution){ .id = b->at.id,
		.command = text,
		.upload = upload,
		.is_followed = b->at.has_remote && !b->at.remote.helper,
		.sink = pass_on,
		.sink_context = run };
	kind = attachment_reach(&b->at, call, run_step, run, e);
	*exit_code = run->execution.exit_code;
	return kind;
}

/*
 * Stores a text that is too long for a command as a file of staging that removes itself. `text`
 * becomes the command that runs the file.
 */
static enum err stage_text(
	struct runloop *b, const struct call *call, struct buf *text, struct error *e)
{
	AUTO_BUF struct buf file = BUF_INIT(TEXT_MAX), path = BUF_INIT(PATH_MAX);
	char name[UUID7_SIZE];
	enum err kind = uuid7_make(name, e);

	if (kind)
		return kind;
	buf_printf(&path, "%s/request-%s", b->at.remote.staging, name);
	remote_text_add(&file, (const char *const[]){ "rm", "-f", "--", buf_text(&path), NULL });
	buf_add_byte(&file, '\n');
	buf_add(&file, text->bytes, text->len);
	buf_reset(text);
	remote_text_add(text, (const char *const[]){ ".", buf_text(&path), NULL });
	kind = buf_check(&file, "a command", e);
	if (kind)
		return kind;
	return runloop_upload(
		b, call, &(struct remote_upload){ buf_text(&path), file.bytes, file.len }, e);
}

static enum err runloop_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct runloop *b = context;
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	struct run run = { .flags = flags, .sink = sink, .sink_context = sink_context };
	enum err kind;

	remote_text_add(&text, argv);
	kind = buf_check(&text, "a command", e);
	if (!kind && b->at.has_remote && text.len > EXECUTION_COMMAND_MAX)
		kind = stage_text(b, call, &text, e);
	return kind ? kind : run_text(b, call, buf_text(&text), upload, &run, exit_code, e);
}

/* ---- A program that goes on ---- */

static enum err listen_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	struct run *run = context;
	enum err kind = execution_listen(&run->execution, rest_of(a), call, e);

	*is_done = run->execution.has_started;
	return kind;
}

static enum err runloop_listen(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	struct runloop *b = context;
	AUTO_BUF struct buf text = BUF_INIT(EXECUTION_COMMAND_MAX);
	struct run run = { .sink = sink, .sink_context = sink_context };
	enum err kind;

	remote_text_add(&text, argv);
	kind = buf_check(&text, "a command", e);
	if (kind)
		return kind;
	run.execution = (struct execution){
		.id = b->at.id, .command = buf_text(&text), .sink = pass_on, .sink_context = &run
	};
	kind = attachment_reach(&b->at, call, listen_step, &run, e);
	*exit_code = run.execution.exit_code;
	return kind;
}

const struct remote_ops runloop_remote = {
	.run = runloop_run,
	.upload = runloop_upload,
	.listen = runloop_listen,
	.download = runloop_download,
	.download_min = DOWNLOAD_MIN,
	.argument_max = ARGUMENT_MAX,
	.inline_max = INLINE_MAX,
	.is_text = true,
};
