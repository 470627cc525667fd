#include "providers/modal/modal.h"

#include "providers/base/cleanup.h"
#include "providers/remote_command.h"

#include <stdio.h>
#include <string.h>

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* What travels inside a request costs a third more, as text. */
#define INLINE_MAX ((size_t)16 * 1024)

/* ---- What is known of the sandbox ---- */

static enum err say_gone(const struct modal *m, struct error *e)
{
	return error_set(e, ERR_GONE, "sandbox modal:%s is gone", m->id);
}

enum err modal_check(struct modal *m, struct error *e)
{
	bool is_gone;

	pthread_mutex_lock(&m->lock);
	is_gone = m->is_gone;
	pthread_mutex_unlock(&m->lock);
	return is_gone ? say_gone(m, e) : ERR_OK;
}

enum err modal_note_gone(struct modal *m, const struct error *why, struct error *e)
{
	pthread_mutex_lock(&m->lock);
	m->is_gone = true;
	pthread_mutex_unlock(&m->lock);
	return error_set(e, ERR_GONE, "sandbox modal:%s is gone: %s", m->id, why->text);
}

/* What a worker says, or does not say, when it has no such sandbox any more. */
static bool may_be_gone(enum err kind, enum grpc_status status)
{
	return kind == ERR_NOT_FOUND || kind == ERR_UNREACHABLE || kind == ERR_TIMEOUT ||
		status == GRPC_NOT_FOUND || status == GRPC_FAILED_PRECONDITION;
}

/* It knows no such program, or has lost it: no file is meant. */
static enum err mean_no_file(enum err kind, struct error *e)
{
	const struct error said = e ? *e : (struct error){ 0 };

	return kind == ERR_NOT_FOUND ? error_set(e, ERR_UNREACHABLE, "%s", said.text) : kind;
}

enum err modal_explain(struct modal *m, const struct call *call, enum err kind,
	enum grpc_status status, struct error *e)
{
	struct error why = { 0 };

	if (!kind || !m->has_remote || !may_be_gone(kind, status))
		return kind;
	if (sandbox_check_runs(m->control, call, m->id, &why) != ERR_NOT_FOUND)
		return mean_no_file(kind, e);
	return modal_note_gone(m, &why, e);
}

/* ---- Its life ---- */

static enum err fill(struct modal *m, const struct provider_config *cfg, struct error *e)
{
	enum err kind = modal_settings_read(&m->settings, cfg->key_file, e);

	if (!kind)
		kind = http_new(&m->http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind)
		kind = modal_control_new(&m->control, m->http, &m->settings, e);
	if (!kind)
		kind = channels_new(&m->channels, e);
	if (kind)
		return kind;
	if (cfg->id && strlen(cfg->id) >= sizeof m->id)
		return error_set(e, ERR_INVALID,
			"modal: '%.100s...' is too long for a sandbox's ID or name", cfg->id);
	snprintf(m->id, sizeof m->id, "%s", cfg->id ? cfg->id : "");
	return ERR_OK;
}

enum err modal_open(struct modal **out, const struct provider_config *cfg, struct error *e)
{
	struct modal *m = calloc(1, sizeof *m);
	enum err kind;

	if (!m)
		return error_set(e, ERR_NO_MEMORY, "modal");
	m->base.ops = &modal_provider;
	pthread_mutex_init(&m->lock, NULL);
	kind = fill(m, cfg, e);
	if (kind)
		modal_close(m);
	else
		*out = m;
	return kind;
}

enum err modal_resolve(struct modal *m, const struct call *call, struct error *e)
{
	char name[sizeof m->id];

	if (!*m->id)
		return error_set(e, ERR_INVALID, "modal: no sandbox ID or name given");
	if (!sandbox_check_id(m->id, NULL))
		return ERR_OK;
	memcpy(name, m->id, sizeof name);
	return sandbox_find_named(m->control, call, m->settings.environment, name, m->id, e);
}

void modal_close(struct modal *m)
{
	channels_free(m->channels);
	worker_free(m->worker);
	modal_control_free(m->control);
	if (m->http)
		http_free(m->http);
	modal_settings_release(&m->settings);
	pthread_mutex_destroy(&m->lock);
	free(m->task_id);
	free(m);
}

static void modal_release(struct provider *p)
{
	struct modal *m = modal_of(p);

	if (m->has_remote)
		remote_release(&m->remote);
	modal_close(m);
}

/* ---- Attaching ---- */

static enum err renew_access(
	void *context, const struct call *call, struct worker_access *out, struct error *e)
{
	struct modal *m = context;

	return sandbox_access(m->control, call, m->id, m->task_id, out, e);
}

static enum err find_worker(struct modal *m, const struct call *call, struct error *e)
{
	struct worker_access access = { 0 };
	enum err kind = sandbox_task(m->control, call, m->id, &m->task_id, e);

	if (!kind)
		kind = renew_access(m, call, &access, e);
	return kind ? kind
		    : worker_new(&m->worker, m->http, m->task_id, &access, renew_access, m, e);
}

static enum err attach(struct modal *m, const struct provider_config *cfg, const struct call *call,
	struct error *e)
{
	const struct remote_ops ops = { .run = modal_run,
		.upload = modal_upload,
		.keep = modal_keep,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_live = true,
		.context = m };
	enum err kind = remote_attach(&m->remote, &ops, cfg, NULL, call, e);

	if (kind)
		return kind;
	m->has_remote = true;
	remote_lend(&m->remote, &m->base);
	return ERR_OK;
}

static enum err modal_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct modal *m;
	enum err kind = modal_open(&m, cfg, e);

	if (kind)
		return kind;
	kind = modal_resolve(m, call, e);
	if (!kind && !cfg->account_only) {
		kind = find_worker(m, call, e);
		if (!kind)
			kind = attach(m, cfg, call, e);
	}
	if (kind)
		modal_release(&m->base);
	else
		*out = &m->base;
	return kind;
}

static enum err modal_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	enum err kind = modal_check(modal_of(p), e);

	*result = (struct execute_result){ 0 };
	return kind ? kind
		    : remote_command(&modal_of(p)->remote, call, request, sink, context, result, e);
}

/*
 * list, fetch, apply and watch are the helper's, which is kept while it is asked; so are commands: one request each, where
 * Modal's own way is four. A sandbox can be neither paused nor given more time.
 */
const struct provider_ops modal_provider = {
	.name = "modal",
	.title = "Modal",
	.key_names = "MODAL_TOKEN_ID, MODAL_TOKEN_SECRET",
	.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_ENV | OPTION_LABELS | OPTION_NAME | OPTION_CPUS |
		OPTION_MEMORY | OPTION_GPU | OPTION_REGION | OPTION_IDLE | OPTION_BLOCK_NETWORK |
		OPTION_PORTS | OPTION_LIFETIME,
	.connect_options = OPTION_RESUME_NEVER,
	.create = modal_create,
	.connect = modal_connect,
	.release = modal_release,
	.info = modal_info,
	.list_sandboxes = modal_list_sandboxes,
	.delete = modal_delete,
	.extend = modal_extend,
	.url = modal_url,
	.execute = modal_execute,
};
