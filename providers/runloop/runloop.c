#include "providers/runloop/runloop.h"

#include "providers/remote_command.h"

#include <stdio.h>
#include <string.h>

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* As text it is a third more, and the whole command may have no more than that. */
#define INLINE_MAX ((size_t)64 * 1024)
/* From here on the third more that text needs costs more than the second request that a file needs. */
#define DOWNLOAD_MIN ((size_t)256 * 1024)

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
	free(b);
}

static enum err fill(struct runloop *b, const struct provider_config *cfg, struct error *e)
{
	enum err kind = devbox_api_open(&b->api, cfg, e);

	if (kind)
		return kind;
	if (cfg->id && strlen(cfg->id) >= sizeof b->id)
		return error_set(e, ERR_INVALID,
			"runloop: '%.100s...' is too long for a devbox's ID or name", cfg->id);
	snprintf(b->id, sizeof b->id, "%s", cfg->id ? cfg->id : "");
	b->resume = cfg->resume;
	return ERR_OK;
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
	const struct remote_ops ops = { .run = runloop_run,
		.upload = runloop_upload,
		.listen = runloop_listen,
		.download = runloop_download,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true,
		.context = b };
	enum err kind = remote_attach(&b->remote, &ops, cfg, NULL, call, e);

	if (kind)
		return kind;
	b->has_remote = true;
	remote_lend(&b->remote, &b->base);
	return ERR_OK;
}

static enum err runloop_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct runloop *b;
	enum err kind = runloop_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = runloop_resolve(b, call, e);
	if (!kind && !cfg->account_only) {
		kind = runloop_find(b, call, e);
		if (!kind)
			kind = attach(b, cfg, call, e);
	}
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
	.caps = PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_ENV | OPTION_LABELS | OPTION_NAME | OPTION_CPUS |
		OPTION_MEMORY | OPTION_DISK | OPTION_IDLE | OPTION_LIFETIME,
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
	.url = runloop_url,
	.execute = runloop_execute,
	.watch = runloop_watch,
};
