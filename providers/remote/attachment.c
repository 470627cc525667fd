#include "providers/remote/attachment.h"

#include "providers/base/log.h"
#include "providers/remote/command.h"
#include "providers/remote/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISCARD_MS 10000

static struct attachment *attachment_of(struct provider *p)
{
	return (struct attachment *)p;
}

static const char *vendor_of(const struct attachment *a)
{
	return a->base.ops->name;
}

/* ---- Life ---- */

void *attachment_new(size_t size, const struct provider_ops *ops, const struct provider_config *cfg,
	struct error *e)
{
	struct attachment *a = calloc(1, size);

	if (a) {
		a->base.ops = ops;
		a->resume = cfg->resume;
		a->user = cfg->user ? strdup(cfg->user) : NULL;
		pthread_mutex_init(&a->lock, NULL);
	}
	if (a && (a->user || !cfg->user))
		return a;
	if (a)
		attachment_free(a);
	error_set(e, ERR_NO_MEMORY, "%s", ops->name);
	return NULL;
}

void attachment_detach(struct attachment *a)
{
	if (a->has_remote)
		remote_release(&a->remote);
}

void attachment_free(struct attachment *a)
{
	pthread_mutex_destroy(&a->lock);
	free(a->user);
	free(a);
}

void attachment_cleanup(void *place)
{
	struct provider *p;

	memcpy(&p, place, sizeof p);
	if (p)
		p->ops->release(p);
}

enum err attachment_attach(struct attachment *a, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e)
{
	struct remote_ops own = *ops;
	enum err kind;

	own.context = a;
	kind = remote_attach(&a->remote, &own, cfg, working_dir, call, e);
	if (kind)
		return kind;
	a->has_remote = true;
	remote_fill_slots(&a->remote, &a->base);
	return ERR_OK;
}

/* ---- Whether the sandbox exists ---- */

static enum err say_gone(const struct attachment *a, struct error *e)
{
	return error_set(e, ERR_GONE, "sandbox %s:%s is gone", vendor_of(a), a->id);
}

enum err attachment_check(struct attachment *a, struct error *e)
{
	return provider_is_gone(&a->base) ? say_gone(a, e) : ERR_OK;
}

void attachment_note_gone(struct attachment *a)
{
	atomic_store(&a->base.is_gone, true);
}

enum err attachment_note(struct attachment *a, enum err kind, struct error *e)
{
	/* The ID of a sandbox that was never attached may be a typing mistake. */
	if (kind != ERR_NOT_FOUND || !a->has_remote)
		return kind;
	attachment_note_gone(a);
	return say_gone(a, e);
}

enum err attachment_may_wake(const struct attachment *a, const struct call *call, const char *state,
	const char *wake, const char *woken, struct error *e)
{
	if (a->resume == RESUME_NEVER)
		return error_set(e, ERR_GONE,
			"sandbox %s:%s is %s; -o resume=access lets a mount %s it", vendor_of(a),
			a->id, state, wake);
	if (call && call->is_background)
		return error_set(e, ERR_GONE, "sandbox %s:%s is %s, and %s when somebody uses it",
			vendor_of(a), a->id, state, woken);
	return ERR_OK;
}

/* ---- The state at connecting ---- */

void attachment_remember(struct attachment *a, const struct sandbox_info *found)
{
	pthread_mutex_lock(&a->lock);
	a->has_found = !a->has_remote;
	a->found = *found;
	pthread_mutex_unlock(&a->lock);
}

bool attachment_take_found(struct attachment *a, struct sandbox_info *out)
{
	bool has_found;

	pthread_mutex_lock(&a->lock);
	has_found = a->has_found;
	*out = a->found;
	a->has_found = false;
	pthread_mutex_unlock(&a->lock);
	return has_found;
}

void attachment_describe(const struct attachment *a, struct sandbox_info *out)
{
	snprintf(out->id, sizeof out->id, "%s", a->id);
	snprintf(out->user, sizeof out->user, "%s", a->user ? a->user : "");
	remote_describe(&a->remote, out);
}

/* ---- A new sandbox that cannot be used ---- */

void attachment_discard(
	const struct provider_ops *ops, const struct provider_config *cfg, const char *id)
{
	const struct call call = { .progress_ms = DISCARD_MS };
	struct provider_config made = *cfg;
	struct error e = { 0 };

	made.id = id;
	if (*id && ops->delete (&made, &call, &e))
		log_error(LOG_PROVIDER, "%s:%s was made, is of no use and could not be deleted: %s",
			ops->name, id, e.text);
}

/* ---- Slots of the table ---- */

enum err attachment_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&attachment_of(p)->remote, call, request, sink, context, result, e);
}

enum err attachment_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	return remote_watch(
		&attachment_of(p)->remote, p->ops->name, call, request, sink, context, e);
}
