#include "providers/base/cleanup.h"
#include "providers/langsmith/langsmith.h"
#include "providers/langsmith/snapshot.h"
#include "providers/remote/names.h"

#include <stdio.h>

/* The home; where the home takes no files, the service's own default. */
#define WORKING_DIR "?/tmp"

/* ---- A new sandbox ---- */

static enum err check_ready(const struct box *b, const char *id, struct error *e)
{
	if (b->status == BOX_READY)
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "langsmith:%s was made, but %s%s%s", id,
		b->status == BOX_FAILED ? "failed" : "is being deleted", *b->message ? ": " : "",
		b->message);
}

/* A sandbox of the user's name may be older than the request, so its deletion needs proof. */
static enum err box_not_made(const struct provider_config *cfg, const char *name,
	enum box_trace trace, const struct error *why, struct error *e)
{
	if (trace == BOX_WAS_MADE || (trace == BOX_MAY_BE_MADE && !cfg->name))
		attachment_discard(&langsmith_provider, cfg, name);
	else if (trace == BOX_MAY_BE_MADE)
		return error_set(e, why->kind, "%.250s" REST_MAY_EXIST, why->text, "langsmith");
	return error_set(e, why->kind, "%s", why->text);
}

static enum err create_named(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const char *name, char id[128], struct error *e)
{
	struct box b = { 0 };
	struct error why = { 0 };
	enum box_trace trace;
	enum err kind = box_create(r, call, cfg, name, &b, &trace, &why);

	if (kind)
		return box_not_made(cfg, name, trace, &why, e);
	snprintf(id, 128, "%s", b.id);
	if (b.status != BOX_READY)
		kind = box_wait(r, call, id, &b, e);
	if (!kind)
		kind = check_ready(&b, id, e);
	if (kind)
		attachment_discard(&langsmith_provider, cfg, id);
	return kind;
}

static enum err langsmith_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	char name[REMOTE_NAME_SIZE], snapshot[IMAGE_ID_SIZE];
	struct provider_config wanted = *cfg;
	/* A name made here finds the sandbox again when the id was lost with the answer. */
	enum err kind = remote_new_name("sandboxfs-", name, e);

	if (!kind)
		kind = langsmith_account_open(&account, cfg, e);
	if (!kind && cfg->image)
		kind = image_base_of(&account.rest, call, cfg, &langsmith_image, snapshot, e);
	if (kind)
		return kind;
	if (cfg->image)
		wanted.template = snapshot;
	return create_named(&account.rest, call, &wanted, cfg->name ? cfg->name : name, id, e);
}

/* ---- All sandboxes, and one by its name ---- */

static enum err langsmith_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	enum err kind = langsmith_account_open(&account, cfg, e);

	return kind ? kind : box_list(&account.rest, call, sink, context, e);
}

static enum err langsmith_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	enum err kind = langsmith_account_open(&account, cfg, e);

	return kind ? kind : box_delete(&account.rest, call, cfg->id ? cfg->id : "", e);
}

/* ---- An attached sandbox ---- */

static enum err langsmith_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_ATTACHMENT struct langsmith *l = NULL;
	enum err kind = langsmith_new(&l, cfg, e);

	if (!kind && !cfg->account_only)
		kind = attachment_find(&l->at, call, e);
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&l->at, &langsmith_remote, cfg,
			*l->found.work_dir == '/' ? l->found.work_dir : WORKING_DIR, call, e);
	if (!kind)
		*out = &take(l)->at.base;
	return kind;
}

static enum err langsmith_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct error why = { 0 };
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || b.status == BOX_STOPPED)
		return kind;
	if (b.is_disposable)
		return error_set(e, ERR_UNSUPPORTED,
			"langsmith:%s is not persistent: to stop it discards what was written",
			l->at.id);
	kind = box_act(&l->account.rest, call, l->at.id, "stop", &why);
	if (kind)
		return error_set(e, kind, "%s", why.text);
	langsmith_note_stopped(l);
	http_drop_connections(l->account.http);
	return ERR_OK;
}

/* Only use puts the sandbox's end off, and only a program or file request in it counts as use. */
static enum err use(struct langsmith *l, const struct call *call, struct error *e)
{
	static const char *const argv[] = { "true", NULL };
	int exit_code;
	enum err kind = l->data.base_url ? ERR_OK : attachment_find(&l->at, call, e);

	return kind ? kind : langsmith_do(l, call, argv, &exit_code, e);
}

static enum err langsmith_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || !b.idle_s)
		return kind;
	if (seconds > b.idle_s)
		kind = box_set_idle(
			&l->account.rest, call, l->at.id, box_whole_minutes(seconds), e);
	return kind ? kind : use(l, call, e);
}

static enum err langsmith_url(struct provider *p, const struct call *call, unsigned port,
	struct buf *out, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	return kind ? kind : box_port_url(&l->account.rest, call, l->at.id, port, out, e);
}

const struct provider_ops langsmith_provider = {
	.name = "langsmith",
	.title = "LangSmith",
	.key_names = "LANGSMITH_API_KEY, LANGCHAIN_API_KEY",
	.login = &langsmith_login,
	.caps = PROVIDER_TAKES_HEADERS | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_IMAGE | OPTION_ENV | OPTION_LABELS |
		OPTION_NAME | OPTION_CPUS | OPTION_MEMORY | OPTION_DISK | OPTION_IDLE |
		OPTION_DELETE_AFTER,
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER,
	.create = langsmith_create,
	.connect = langsmith_connect,
	.release = langsmith_release,
	.info = attachment_info,
	.list_sandboxes = langsmith_list_sandboxes,
	.delete = langsmith_delete,
	.pause = langsmith_pause,
	.resume = attachment_resume,
	.extend = langsmith_extend,
	.snapshot = langsmith_snapshot,
	.list_snapshots = langsmith_list_snapshots,
	.delete_snapshot = langsmith_delete_snapshot,
	.url = langsmith_url,
	.execute = attachment_execute,
	.watch = attachment_watch,
};
