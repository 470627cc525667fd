#include "providers/modal/modal.h"

#include "providers/base/cleanup.h"

#include <string.h>

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* Contents inside a request are sent as text, which costs a third more. */
#define INLINE_MAX ((size_t)16 * 1024)

/* ---- The state of the sandbox ---- */

enum err modal_note_gone(struct modal *m, const struct error *why, struct error *e)
{
	attachment_note_gone(&m->at);
	return error_set(e, ERR_GONE, "sandbox modal:%s is gone: %s", m->at.id, why->text);
}

/* The results, or missing answers, of a worker that has no such sandbox any more. */
static bool may_be_gone(enum err kind, enum grpc_status status)
{
	return kind == ERR_NOT_FOUND || kind == ERR_UNREACHABLE || kind == ERR_TIMEOUT ||
		status == GRPC_NOT_FOUND || status == GRPC_FAILED_PRECONDITION;
}

/* The worker has no such program, or has lost it. The error must not look like a missing file. */
static enum err mean_no_file(enum err kind, struct error *e)
{
	const struct error said = e ? *e : (struct error){ 0 };

	return kind == ERR_NOT_FOUND ? error_set(e, ERR_UNREACHABLE, "%s", said.text) : kind;
}

enum err modal_explain(struct modal *m, const struct call *call, enum err kind,
	enum grpc_status status, struct error *e)
{
	struct error why = { 0 };

	if (!kind || !m->at.has_remote || !may_be_gone(kind, status))
		return kind;
	if (sandbox_check_runs(m->control, call, m->at.id, NULL, &why) != ERR_NOT_FOUND)
		return mean_no_file(kind, e);
	return modal_note_gone(m, &why, e);
}

/* ---- Start and end ---- */

static enum err open_account(struct modal *m, const struct provider_config *cfg, struct error *e)
{
	enum err kind = modal_settings_read(&m->settings, cfg->key_file, e);

	if (!kind)
		kind = http_new(&m->http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind)
		kind = modal_control_new(&m->control, m->http, &m->settings, e);
	return kind ? kind : channels_new(&m->channels, e);
}

enum err modal_new(struct modal **out, const struct provider_config *cfg, struct error *e)
{
	const char *id = cfg->id ? cfg->id : "";
	AUTO_ATTACHMENT struct modal *m = attachment_new(sizeof *m, &modal_provider, cfg, e);
	enum err kind = m ? open_account(m, cfg, e) : ERR_NO_MEMORY;

	if (!kind && strlen(id) >= sizeof m->at.id)
		kind = error_set(e, ERR_INVALID,
			"modal: '%.100s...' is too long for a sandbox's ID or name", id);
	if (!kind && cfg->app && strlen(cfg->app) >= sizeof m->app)
		kind = error_set(e, ERR_INVALID, "modal: '%.100s...' is too long for an app's name",
			cfg->app);
	if (kind)
		return kind;
	strcpy(m->app, cfg->app ? cfg->app : SANDBOX_APP);
	m->at.base.foreign = http_foreign(m->http);
	strcpy(m->at.id, id);
	*out = take(m);
	return ERR_OK;
}

void modal_release(struct provider *p)
{
	struct modal *m = modal_of(p);

	attachment_detach(&m->at);
	channels_free(m->channels);
	worker_free(m->worker);
	modal_control_free(m->control);
	if (m->http)
		http_free(m->http);
	modal_settings_release(&m->settings);
	free(m->task_id);
	attachment_free(&m->at);
}

enum err modal_resolve(struct modal *m, const struct call *call, struct error *e)
{
	char name[sizeof m->at.id];

	if (!*m->at.id)
		return error_set(e, ERR_INVALID, "modal: no sandbox ID or name given");
	if (!sandbox_check_id(m->at.id, NULL))
		return ERR_OK;
	memcpy(name, m->at.id, sizeof name);
	return sandbox_find_named(
		m->control, call, m->settings.environment, m->app, name, m->at.id, e);
}

/* ---- Attaching ---- */

static enum err renew_access(
	void *context, const struct call *call, struct worker_access *out, struct error *e)
{
	struct modal *m = context;

	return sandbox_access(m->control, call, m->at.id, m->task_id, out, e);
}

static enum err find_worker(struct modal *m, const struct call *call, struct error *e)
{
	struct worker_access access = { 0 };
	enum err kind = sandbox_task(m->control, call, m->at.id, &m->task_id, e);

	if (!kind)
		kind = renew_access(m, call, &access, e);
	if (!kind)
		kind = worker_new(&m->worker, m->http, modal_control_clock(m->control), m->task_id,
			&access, renew_access, m, e);
	worker_access_release(&access);
	return kind;
}

enum err modal_attach(struct modal *m, const struct provider_config *cfg, const struct call *call,
	struct error *e)
{
	static const struct remote_ops remote = { .run = modal_run,
		.upload = modal_upload,
		.keep = modal_keep,
		.costs_requests = true, /* TaskExecStdinWrite */
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_live = true };
	enum err kind = find_worker(m, call, e);

	return kind ? kind : attachment_attach(&m->at, &remote, cfg, NULL, call, e);
}
