#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/modal/modal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Whoever asked for it may have given up, so letting go of what was made has a time of its own. */
#define DISCARD_MS 10000

/* ---- A new one ---- */

static void discard(struct modal *m)
{
	const struct call call = { .progress_ms = DISCARD_MS };
	struct error e = { 0 };

	if (sandbox_terminate(m->control, &call, m->id, &e))
		log_error(LOG_PROVIDER,
			"modal:%s was made, is of no use and could not be deleted: %s", m->id,
			e.text);
}

static enum err create_with(struct modal *m, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	enum err kind = sandbox_create(m->control, call, &m->settings, cfg, m->id, e);

	if (kind)
		return kind;
	kind = sandbox_task(m->control, call, m->id, &m->task_id, e);
	if (kind)
		discard(m);
	return kind;
}

enum err modal_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct modal *m;
	enum err kind = modal_open(&m, cfg, e);

	if (kind)
		return kind;
	kind = create_with(m, cfg, call, e);
	if (!kind)
		snprintf(id, 128, "%s", m->id);
	modal_close(m);
	return kind;
}

/* ---- All, and one by its name ---- */

enum err modal_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	struct modal *m;
	enum err kind = modal_open(&m, cfg, e);

	if (kind)
		return kind;
	kind = sandbox_list(m->control, call, m->settings.environment, sink, context, e);
	modal_close(m);
	return kind;
}

enum err modal_delete(const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct error why = { 0 };
	struct modal *m;
	enum err kind = modal_open(&m, cfg, e);

	if (kind)
		return kind;
	kind = modal_resolve(m, call, &why);
	if (!kind)
		kind = sandbox_terminate(m->control, call, m->id, &why);
	modal_close(m);
	return kind && kind != ERR_NOT_FOUND ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- One that is attached ---- */

struct sought {
	const struct modal *m;
	int64_t expires_s;
	bool is_found;
};

static enum err compare(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct sought *s = context;

	if (strcmp(entry->id, s->m->id) != 0)
		return ERR_OK;
	s->expires_s = entry->expires_s;
	s->is_found = true;
	return error_set(e, ERR_INTERRUPTED, "found");
}

/*
 * When it ends stands only in the list of all, and never changes: it is looked for once. What cannot be found out is no
 * reason to fail.
 */
static void learn_end(struct modal *m, const struct call *call)
{
	struct sought sought = { .m = m };
	struct error e = { 0 };
	bool has_asked;

	pthread_mutex_lock(&m->lock);
	has_asked = m->has_asked;
	m->has_asked = true;
	pthread_mutex_unlock(&m->lock);
	if (has_asked)
		return;
	sandbox_list(m->control, call, m->settings.environment, compare, &sought, &e);
	pthread_mutex_lock(&m->lock);
	if (sought.is_found && sought.expires_s >= 0)
		m->ends_s = time(NULL) + sought.expires_s;
	pthread_mutex_unlock(&m->lock);
}

static int64_t expires_s(struct modal *m)
{
	int64_t ends_s, left_s;

	pthread_mutex_lock(&m->lock);
	ends_s = m->ends_s;
	pthread_mutex_unlock(&m->lock);
	left_s = ends_s - time(NULL);
	return !ends_s ? -1 : left_s > 0 ? left_s : 0;
}

enum err modal_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct modal *m = modal_of(p);
	struct error why = { 0 };
	enum err kind = modal_check(m, e);

	if (kind)
		return kind;
	kind = sandbox_check_runs(m->control, call, m->id, &why);
	if (kind == ERR_NOT_FOUND)
		return modal_note_gone(m, &why, e);
	if (kind)
		return error_set(e, kind, "%s", why.text);
	learn_end(m, call);
	*out = (struct sandbox_info){ .state = SANDBOX_RUNNING, .expires_s = expires_s(m) };
	snprintf(out->id, sizeof out->id, "%s", m->id);
	remote_describe(&m->remote, out);
	return ERR_OK;
}

enum err modal_extend(struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct modal *m = modal_of(p);
	int64_t left_s;

	learn_end(m, call);
	left_s = expires_s(m);
	if (left_s < 0 || left_s >= seconds)
		return ERR_OK;
	return error_set(e, ERR_UNSUPPORTED,
		"modal:%s ends in %lld s and Modal gives a sandbox no more time than it was made "
		"with; lifetime= says how much that is, --timeout of sandboxctl create",
		m->id, (long long)left_s);
}

enum err modal_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct modal *m = modal_of(p);
	struct error why = { 0 };
	enum err kind = modal_check(m, e);

	if (kind)
		return kind;
	kind = sandbox_port_url(m->control, call, m->id, port, out, &why);
	if (kind == ERR_NOT_FOUND)
		return modal_note_gone(m, &why, e);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}
