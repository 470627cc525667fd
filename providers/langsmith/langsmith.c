#include "providers/langsmith/langsmith.h"

#include "providers/remote_command.h"
#include "providers/remote_watch.h"

#include <string.h>

/*
 * A request is text within a command, a third more than its bytes, and the command one argument of Linux, 131071 bytes: it
 * stays below 96 KiB.
 */
#define ARGUMENT_MAX 65536
#define INLINE_MAX   ((size_t)60 * 1024)
/* What the service makes of large outputs is not known, nor whether it cuts them; and they cost a third more. */
#define DOWNLOAD_MIN ((size_t)256 * 1024)

/* ---- Its life ---- */

void langsmith_free(struct langsmith *l)
{
	if (!l)
		return;
	rest_release(&l->data);
	langsmith_account_close(&l->account);
	pthread_mutex_destroy(&l->lock);
	free(l->user);
	free(l);
}

static enum err fill(struct langsmith *l, const struct provider_config *cfg, struct error *e)
{
	const char *id = cfg->id ? cfg->id : "";
	enum err kind = box_check_id(id, e);

	if (!kind)
		kind = langsmith_account_open(&l->account, cfg, e);
	if (kind)
		return kind;
	memcpy(l->id, id, strlen(id) + 1);
	l->resume = cfg->resume;
	l->user = cfg->user ? strdup(cfg->user) : NULL;
	if (cfg->user && !l->user)
		return error_set(e, ERR_NO_MEMORY, "langsmith");
	return ERR_OK;
}

enum err langsmith_new(struct langsmith **out, const struct provider_config *cfg, struct error *e)
{
	struct langsmith *l = calloc(1, sizeof *l);
	enum err kind;

	if (!l)
		return error_set(e, ERR_NO_MEMORY, "langsmith");
	l->base.ops = &langsmith_provider;
	pthread_mutex_init(&l->lock, NULL);
	kind = fill(l, cfg, e);
	if (kind)
		langsmith_free(l);
	else
		*out = l;
	return kind;
}

static void langsmith_release(struct provider *p)
{
	struct langsmith *l = langsmith_of(p);

	if (l->has_remote)
		remote_release(&l->remote);
	langsmith_free(l);
}

/* ---- Attaching ---- */

static enum err attach(struct langsmith *l, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	const struct remote_ops ops = { .run = langsmith_run,
		.upload = langsmith_upload,
		.download = langsmith_download,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true,
		.context = l };
	const char *directory = *l->found.work_dir == '/' ? l->found.work_dir : NULL;
	enum err kind = remote_attach(&l->remote, &ops, cfg, directory, call, e);

	if (kind)
		return kind;
	l->has_remote = true;
	remote_lend(&l->remote, &l->base);
	return ERR_OK;
}

static enum err langsmith_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct langsmith *l;
	enum err kind = langsmith_new(&l, cfg, e);

	if (kind)
		return kind;
	if (!cfg->account_only) {
		kind = langsmith_find(l, call, e);
		if (!kind)
			kind = attach(l, cfg, call, e);
	}
	if (kind)
		langsmith_release(&l->base);
	else
		*out = &l->base;
	return kind;
}

static enum err langsmith_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&langsmith_of(p)->remote, call, request, sink, context, result, e);
}

static enum err langsmith_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	return remote_watch(&langsmith_of(p)->remote, "langsmith", call, request, sink, context, e);
}

const struct provider_ops langsmith_provider = {
	.name = "langsmith",
	.title = "LangSmith",
	.key_names = LANGSMITH_KEY_NAMES,
	.caps = PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_ENV | OPTION_LABELS | OPTION_NAME | OPTION_CPUS |
		OPTION_MEMORY | OPTION_DISK | OPTION_IDLE | OPTION_DELETE_AFTER,
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER,
	.create = langsmith_create,
	.connect = langsmith_connect,
	.release = langsmith_release,
	.info = langsmith_info,
	.list_sandboxes = langsmith_list_sandboxes,
	.delete = langsmith_delete,
	.pause = langsmith_pause,
	.resume = langsmith_resume,
	.extend = langsmith_extend,
	.url = langsmith_url,
	.execute = langsmith_execute,
	.watch = langsmith_watch,
};
