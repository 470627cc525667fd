#include "providers/base/cleanup.h"
#include "providers/modal/modal.h"
#include "providers/server_clock.h"

#include <stdio.h>
#include <string.h>

/* ---- A new sandbox ---- */

/* The sandbox exists even where it does not start. */
static enum err make(struct modal *m, const struct provider_config *cfg, const struct call *call,
	struct error *e)
{
	enum err kind = sandbox_create(m->control, call, &m->settings, cfg, m->at.id, e);

	if (kind)
		return kind;
	kind = sandbox_task(m->control, call, m->at.id, &m->task_id, e);
	if (kind)
		attachment_discard(&modal_provider, cfg, m->at.id);
	return kind;
}

static enum err modal_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct modal *m = NULL;
	enum err kind = modal_new(&m, cfg, e);

	if (!kind)
		kind = make(m, cfg, call, e);
	if (!kind)
		snprintf(id, 128, "%s", m->at.id);
	return kind;
}

/* ---- All sandboxes, and one by its name ---- */

static enum err modal_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_ATTACHMENT struct modal *m = NULL;
	enum err kind = modal_new(&m, cfg, e);

	return kind ? kind
		    : sandbox_list_all(m->control, call, m->settings.environment, sink, context, e);
}

static enum err modal_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct modal *m = NULL;
	struct error why = { 0 };
	enum err kind = modal_new(&m, cfg, e);

	if (kind)
		return kind;
	kind = modal_resolve(m, call, &why);
	if (!kind)
		kind = sandbox_terminate(m->control, call, m->at.id, &why);
	return kind && kind != ERR_NOT_FOUND ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- Attaching ---- */

static enum err modal_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_ATTACHMENT struct modal *m = NULL;
	enum err kind = modal_new(&m, cfg, e);

	if (!kind)
		kind = modal_resolve(m, call, e);
	if (!kind && !cfg->account_only)
		kind = modal_attach(m, cfg, call, e);
	if (!kind)
		*out = &take(m)->at.base;
	return kind;
}

static enum err modal_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	enum err kind = attachment_check(&modal_of(p)->at, e);

	*result = (struct execute_result){ 0 };
	return kind ? kind : attachment_execute(p, call, request, sink, context, result, e);
}

/* ---- The attached sandbox ---- */

struct sought {
	const struct modal *m;
	int64_t expires_s;
	bool is_found;
};

static enum err compare(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct sought *s = context;

	if (strcmp(entry->id, s->m->at.id) != 0)
		return ERR_OK;
	s->expires_s = entry->expires_s;
	s->is_found = true;
	return error_set(e, ERR_INTERRUPTED, "found");
}

static int64_t now_s(const struct modal *m)
{
	return server_clock_now_s(modal_control_clock(m->control));
}

/*
 * The time when a sandbox ends is only in the list, and never changes. So it is looked for once, in
 * the app `app_id`, or in all apps where that is "". A failure to find it is ignored.
 */
static void learn_end(struct modal *m, const struct call *call, const char *app_id)
{
	struct sought sought = { .m = m };
	struct error e = { 0 };
	bool has_asked;

	pthread_mutex_lock(&m->at.lock);
	has_asked = m->has_asked;
	m->has_asked = true;
	pthread_mutex_unlock(&m->at.lock);
	if (has_asked)
		return;
	if (*app_id)
		sandbox_list(m->control, call, app_id, compare, &sought, &e);
	else
		sandbox_list_all(m->control, call, m->settings.environment, compare, &sought, &e);
	pthread_mutex_lock(&m->at.lock);
	if (sought.is_found && sought.expires_s >= 0)
		m->ends_s = now_s(m) + sought.expires_s;
	pthread_mutex_unlock(&m->at.lock);
}

static int64_t expires_s(struct modal *m)
{
	int64_t ends_s, left_s;

	pthread_mutex_lock(&m->at.lock);
	ends_s = m->ends_s;
	pthread_mutex_unlock(&m->at.lock);
	left_s = ends_s - now_s(m);
	return !ends_s ? -1 : left_s > 0 ? left_s : 0;
}

static enum err modal_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct modal *m = modal_of(p);
	char app_id[SANDBOX_APP_ID_MAX] = "";
	struct error why = { 0 };
	enum err kind = attachment_check(&m->at, e);

	if (kind)
		return kind;
	kind = sandbox_check_runs(m->control, call, m->at.id, app_id, &why);
	if (kind == ERR_NOT_FOUND)
		return modal_note_gone(m, &why, e);
	if (kind)
		return error_set(e, kind, "%s", why.text);
	learn_end(m, call, app_id);
	*out = (struct sandbox_info){ .state = SANDBOX_RUNNING, .expires_s = expires_s(m) };
	attachment_describe(&m->at, out);
	return ERR_OK;
}

static enum err modal_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct modal *m = modal_of(p);
	int64_t left_s;

	learn_end(m, call, "");
	left_s = expires_s(m);
	if (left_s < 0 || left_s >= seconds)
		return ERR_OK;
	return error_set(e, ERR_UNSUPPORTED,
		"modal:%s ends in %lld s and Modal gives a sandbox no more time than it was made "
		"with; lifetime= says how much that is, --timeout of sandboxctl create",
		m->at.id, (long long)left_s);
}

static enum err modal_url(struct provider *p, const struct call *call, unsigned port,
	struct buf *out, struct error *e)
{
	struct modal *m = modal_of(p);
	struct error why = { 0 };
	enum err kind = attachment_check(&m->at, e);

	if (kind)
		return kind;
	kind = sandbox_port_url(m->control, call, m->at.id, port, out, &why);
	if (kind == ERR_NOT_FOUND)
		return modal_note_gone(m, &why, e);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/*
 * list, fetch, apply and watch are the helper's, which is kept while requests come. Commands are
 * the helper's too: one request each, where Modal's own way needs four. A sandbox can be neither
 * paused nor given more time.
 */
const struct provider_ops modal_provider = {
	.name = "modal",
	.title = "Modal",
	.key_names = "MODAL_TOKEN_ID, MODAL_TOKEN_SECRET",
	.login = &modal_login,
	.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_IMAGE | OPTION_ENV | OPTION_LABELS |
		OPTION_NAME | OPTION_CPUS | OPTION_MEMORY | OPTION_GPU | OPTION_REGION |
		OPTION_IDLE | OPTION_BLOCK_NETWORK | OPTION_ALLOW | OPTION_PORTS | OPTION_LIFETIME,
	.connect_options = OPTION_RESUME_NEVER | OPTION_APP,
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
