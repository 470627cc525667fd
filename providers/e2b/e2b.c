#include "providers/e2b/e2b.h"

#include "providers/remote_command.h"

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* What travels inside a request costs a third more, as text; an upload costs a second request. */
#define INLINE_MAX ((size_t)64 * 1024)
/* Paths are packed to a tenth. Arguments may be 2 MB together, a quarter of the stack that a process has by default. */
#define INLINE_PACKED_MAX ((size_t)512 * 1024)

/* ---- What remote.h needs of a vendor ---- */

struct remote_run {
	const char *const *argv;
	unsigned flags; /* enum run_flags */
	const struct envd_upload *upload;
	execute_sink sink;
	void *sink_context;
	bool has_output;
	int exit_code;
};

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct remote_run *run = context;

	run->has_output = true;
	return run->sink(run->sink_context, stream, bytes, len, e);
}

static enum err run_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct remote_run *run = context;
	const struct envd_command command = {
		.argv = run->argv, .flags = run->flags, .upload = run->upload
	};
	struct envd_outcome outcome = { 0 };
	enum err kind = envd_run(d, call, &command, NULL, pass_on, run, &outcome, e);
	bool may_repeat = run->flags & RUN_REPEATABLE && !run->has_output;

	*is_done = outcome.may_have_run && !may_repeat;
	run->exit_code = outcome.exit_code;
	if (!kind && !outcome.has_exit_code)
		return error_set(
			e, ERR_PROTOCOL, "e2b: the daemon does not say how a program ended");
	return kind;
}

static enum err run_remote(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	const struct envd_upload file = upload ? (struct envd_upload){ .path = upload->path,
		.bytes = upload->bytes,
		.len = upload->len }
					       : (struct envd_upload){ 0 };
	struct remote_run run = { .argv = argv,
		.flags = flags,
		.upload = upload ? &file : NULL,
		.sink = sink,
		.sink_context = sink_context };
	enum err kind = e2b_reach(context, call, run_step, &run, e);

	*exit_code = run.exit_code;
	return kind;
}

static enum err upload_remote(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	const struct envd_upload file = {
		.path = upload->path, .bytes = upload->bytes, .len = upload->len
	};

	return e2b_upload(context, call, &file, e);
}

/* ---- Attaching ---- */

static void e2b_release(struct provider *p)
{
	struct e2b *b = e2b_of(p);

	if (b->has_remote)
		remote_release(&b->remote);
	e2b_free(b);
}

static enum err attach(
	struct e2b *b, const struct provider_config *cfg, const struct call *call, struct error *e)
{
	const struct remote_ops ops = { .run = run_remote,
		.upload = upload_remote,
		.listen = e2b_listen,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.inline_packed_max = INLINE_PACKED_MAX,
		.is_live = true,
		.context = b };
	enum err kind = remote_attach(&b->remote, &ops, cfg, NULL, call, e);

	if (kind)
		return kind;
	b->has_remote = true;
	remote_lend(&b->remote, &b->base);
	return ERR_OK;
}

static enum err reach(
	struct e2b *b, const struct provider_config *cfg, const struct call *call, struct error *e)
{
	enum err kind = e2b_find(b, call, e);

	return kind ? kind : attach(b, cfg, call, e);
}

static enum err e2b_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct e2b *b;
	enum err kind = e2b_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = e2b_name(b, cfg->id, e);
	if (!kind && !cfg->account_only)
		kind = reach(b, cfg, call, e);
	if (kind)
		e2b_release(&b->base);
	else
		*out = &b->base;
	return kind;
}

static enum err e2b_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&e2b_of(p)->remote, call, request, sink, context, result, e);
}

/* list, fetch and apply are the helper's: the daemon's own calls are slower and less exact. */
const struct provider_ops e2b_provider = {
	.name = "e2b",
	.title = "E2B",
	.key_names = "E2B_API_KEY",
	.caps = PROVIDER_COMMANDS_PULSE,
	.create_options = OPTION_TEMPLATE | OPTION_ENV | OPTION_LABELS | OPTION_BLOCK_NETWORK |
		OPTION_LIFETIME,
	.connect_options = OPTION_USER | OPTION_LIFETIME | OPTION_RESUME_NEVER,
	.create = e2b_create,
	.connect = e2b_connect,
	.release = e2b_release,
	.info = e2b_info,
	.list_sandboxes = e2b_list_sandboxes,
	.delete = e2b_delete,
	.pause = e2b_pause,
	.resume = e2b_resume,
	.extend = e2b_extend,
	.url = e2b_url,
	.execute = e2b_execute,
	.watch = e2b_watch,
};
