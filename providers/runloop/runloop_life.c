#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- How it is ---- */

static enum sandbox_state state_of(const struct devbox *d)
{
	return d->phase == DEVBOX_SUSPENDED || d->phase == DEVBOX_SUSPENDING ? SANDBOX_PAUSED
									     : SANDBOX_RUNNING;
}

static int64_t now_s(void)
{
	return (int64_t)time(NULL);
}

/* Uses by others are not known, so it may be more. `kept_ms` as in struct runloop. */
static int64_t left_s(const struct devbox *d, int64_t kept_ms)
{
	int64_t used_s = now_s() - d->running_ms / 1000;
	int64_t kept_s = (monotonic_ms() - kept_ms) / 1000;

	if (d->lifetime_s < 0 || state_of(d) == SANDBOX_PAUSED)
		return -1;
	if (d->is_idle_counted && kept_ms && kept_s < used_s)
		used_s = kept_s;
	return used_s < 0 ? d->lifetime_s : used_s < d->lifetime_s ? d->lifetime_s - used_s : 0;
}

/* What attaching saw is told once: a mount asks right behind it. */
static bool recall(struct runloop *b, struct devbox *out, int64_t *kept_ms)
{
	bool has_found;

	pthread_mutex_lock(&b->lock);
	has_found = b->has_found;
	*out = b->found;
	*kept_ms = b->kept_ms;
	b->has_found = false;
	pthread_mutex_unlock(&b->lock);
	return has_found;
}

enum err runloop_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct runloop *b = runloop_of(p);
	struct devbox d;
	int64_t kept_ms;
	enum err kind = recall(b, &d, &kept_ms) ? ERR_OK : runloop_look(b, call, &d, e);

	if (kind)
		return kind;
	*out = (struct sandbox_info){ .state = state_of(&d), .expires_s = left_s(&d, kept_ms) };
	snprintf(out->id, sizeof out->id, "%s", b->id);
	remote_describe(&b->remote, out);
	return ERR_OK;
}

struct listing {
	sandbox_sink sink;
	void *context;
};

static enum err pass_entry(void *context, const struct devbox *d, const struct labels *labels,
	const struct error *unread, struct error *e)
{
	const struct listing *l = context;
	struct sandbox_entry entry = { .unread = d ? NULL : unread->text };

	if (d)
		entry = (struct sandbox_entry){ .id = d->id,
			.state = state_of(d),
			.expires_s = left_s(d, 0),
			.labels = labels_list(labels) };
	return l->sink(l->context, &entry, e);
}

enum err runloop_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	struct listing listing = { sink, context };
	struct devbox_api api;
	enum err kind = devbox_api_open(&api, cfg, e);

	if (kind)
		return kind;
	kind = devbox_list(&api.rest, call, pass_entry, &listing, e);
	devbox_api_close(&api);
	return kind;
}

/* ---- Its ends ---- */

/* What the service says of one that has ended already is not known: it is looked at. */
static enum err delete_one(
	const struct rest *r, const struct call *call, const char *id, struct error *e)
{
	struct error why = { 0 };
	struct devbox d;
	enum err kind = devbox_act(r, call, id, "shutdown", &why);

	if (kind == ERR_INVALID || kind == ERR_BUSY) {
		enum err looked = devbox_look(r, call, id, &d, e);

		if (!looked && d.phase == DEVBOX_ENDED)
			return ERR_OK;
	}
	if (!kind || kind == ERR_NOT_FOUND)
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

enum err runloop_delete(const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct runloop *b;
	enum err kind = runloop_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = runloop_resolve(b, call, e);
	if (!kind)
		kind = delete_one(&b->api.rest, call, b->id, e);
	else if (kind == ERR_NOT_FOUND)
		kind = ERR_OK;
	runloop_free(b);
	return kind;
}

/* ERR_INVALID is also what one says that is suspended already. */
static enum err suspend(struct runloop *b, const struct call *call, struct error *e)
{
	struct error why = { 0 };
	struct devbox d;
	enum err kind = devbox_act(&b->api.rest, call, b->id, "suspend", &why);

	if (kind == ERR_INVALID && !runloop_look(b, call, &d, NULL) &&
		state_of(&d) == SANDBOX_PAUSED)
		return ERR_OK;
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err runloop_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct runloop *b = runloop_of(p);
	struct devbox d;
	enum err kind = runloop_check(b, e);

	if (!kind)
		kind = suspend(b, call, e);
	if (!kind)
		kind = devbox_wait(&b->api.rest, call, b->id, DEVBOX_SUSPENDED, &d, e);
	return kind;
}

enum err runloop_resume(struct provider *p, const struct call *call, struct error *e)
{
	return runloop_wake(runloop_of(p), call, e);
}

/* By as much as it was made with: the service takes no number. */
enum err runloop_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct runloop *b = runloop_of(p);
	int64_t asked_ms = monotonic_ms();
	enum err kind = runloop_check(b, e);

	(void)seconds;
	if (!kind)
		kind = devbox_act(&b->api.rest, call, b->id, "keep_alive", e);
	if (kind)
		return kind;
	pthread_mutex_lock(&b->lock);
	b->kept_ms = asked_ms;
	pthread_mutex_unlock(&b->lock);
	return ERR_OK;
}

/* ---- A port ---- */

enum err runloop_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct runloop *b = runloop_of(p);
	struct devbox d;
	enum err kind = runloop_look(b, call, &d, e);

	if (!kind && !*d.tunnel)
		kind = devbox_open_tunnel(&b->api.rest, call, b->id, d.tunnel, e);
	if (!kind)
		devbox_port_url(out, &b->api.rest, d.tunnel, port);
	return kind;
}
