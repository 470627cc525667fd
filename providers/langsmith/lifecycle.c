#include "providers/base/log.h"
#include "providers/langsmith/langsmith.h"
#include "providers/remote_names.h"

#include <stdio.h>

/* Whoever asked for a sandbox that is of no use may have given up, so its end has a time of its own. */
#define DISCARD_MS 30000

/* ---- A new one ---- */

static void discard(const struct langsmith_account *a, const char *id)
{
	const struct call call = { .progress_ms = DISCARD_MS };
	struct error e = { 0 };

	if (box_delete(&a->control, &call, id, &e))
		log_error(LOG_PROVIDER,
			"langsmith:%s was made, is of no use and could not be deleted: %s", id,
			e.text);
}

static enum err check_ready(const struct box *b, const char *id, struct error *e)
{
	if (b->status == BOX_READY)
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "langsmith:%s was made, but %s%s%s", id,
		b->status == BOX_FAILED ? "failed" : "is being deleted", *b->message ? ": " : "",
		b->message);
}

/* A sandbox of the user's name may have been there before. */
static enum err box_not_made(const struct langsmith_account *a, const struct provider_config *cfg,
	const char *name, enum box_trace trace, const struct error *why, struct error *e)
{
	if (trace == BOX_WAS_MADE || (trace == BOX_MAY_BE_MADE && !cfg->name))
		discard(a, name);
	else if (trace == BOX_MAY_BE_MADE)
		return error_set(e, why->kind, "%.250s" REST_MAY_EXIST, why->text, "langsmith");
	return error_set(e, why->kind, "%s", why->text);
}

static enum err create_named(const struct langsmith_account *a, const struct call *call,
	const struct provider_config *cfg, const char *name, char id[128], struct error *e)
{
	struct box b = { 0 };
	struct error why = { 0 };
	enum box_trace trace;
	enum err kind = box_create(&a->control, call, cfg, name, &b, &trace, &why);

	if (kind)
		return box_not_made(a, cfg, name, trace, &why, e);
	snprintf(id, 128, "%s", b.id);
	if (b.status != BOX_READY)
		kind = box_wait(&a->control, call, id, &b, e);
	if (!kind)
		kind = check_ready(&b, id, e);
	if (kind)
		discard(a, id);
	return kind;
}

enum err langsmith_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct langsmith_account account;
	char name[REMOTE_NAME_SIZE];
	/* By a name of our own it is found again when its id got lost with the answer. */
	enum err kind = remote_new_name("sandboxfs-", name, e);

	if (!kind)
		kind = langsmith_account_open(&account, cfg, e);
	if (kind)
		return kind;
	kind = create_named(&account, call, cfg, cfg->name ? cfg->name : name, id, e);
	langsmith_account_close(&account);
	return kind;
}

/* ---- All, and one by its name ---- */

enum err langsmith_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	struct langsmith_account account;
	enum err kind = langsmith_account_open(&account, cfg, e);

	if (kind)
		return kind;
	kind = box_list(&account.control, call, sink, context, e);
	langsmith_account_close(&account);
	return kind;
}

enum err langsmith_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct langsmith_account account;
	enum err kind = langsmith_account_open(&account, cfg, e);

	if (kind)
		return kind;
	kind = box_delete(&account.control, call, cfg->id ? cfg->id : "", e);
	langsmith_account_close(&account);
	return kind;
}

/* ---- One that is attached ---- */

/* What connecting told is told once: a mount asks right behind it. */
static bool recall(struct langsmith *l, struct box *out)
{
	bool has_found;

	pthread_mutex_lock(&l->lock);
	has_found = l->has_found;
	*out = l->found;
	l->has_found = false;
	pthread_mutex_unlock(&l->lock);
	return has_found;
}

enum err langsmith_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct box b;
	enum err kind = recall(l, &b) ? ERR_OK : langsmith_look(l, call, &b, e);

	if (kind)
		return kind;
	*out = (struct sandbox_info){ .state = box_state(&b),
		.expires_s = langsmith_ends_s(l, &b) };
	snprintf(out->id, sizeof out->id, "%s", b.id);
	remote_describe(&l->remote, out);
	return ERR_OK;
}

enum err langsmith_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct error why = { 0 };
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || b.status == BOX_STOPPED)
		return kind;
	kind = box_act(&l->account.control, call, l->id, "stop", &why);
	if (kind)
		return error_set(e, kind, "%s", why.text);
	langsmith_note_stopped(l);
	http_drop_connections(l->account.http);
	return ERR_OK;
}

enum err langsmith_resume(struct provider *p, const struct call *call, struct error *e)
{
	return langsmith_wake(langsmith_of(p), call, e);
}

/* Being used is what keeps it: nothing else puts its end off, and only what is done in it counts as use. */
static enum err use(struct langsmith *l, const struct call *call, struct error *e)
{
	static const char *const argv[] = { "true", NULL };
	int exit_code;
	enum err kind = l->data.base_url ? ERR_OK : langsmith_find(l, call, e);

	return kind ? kind : langsmith_do(l, call, argv, &exit_code, e);
}

enum err langsmith_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || !b.idle_s)
		return kind;
	if (seconds > b.idle_s)
		kind = box_set_idle(
			&l->account.control, call, l->id, box_whole_minutes(seconds), e);
	return kind ? kind : use(l, call, e);
}

enum err langsmith_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	return kind ? kind : box_port_url(&l->account.control, call, l->id, port, out, e);
}
