#include "providers/remote/attachment.h"

#include "providers/base/log.h"
#include "providers/base/wait.h"
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

/* ---- The state machine ---- */

/* FAILED, BROKEN and ENDED have a predicate of their own. */
static enum err say_why(const struct attachment *a, const struct attachment_view *view,
	enum err kind, struct error *e)
{
	return error_set(e, kind, "sandbox %s:%s %s", vendor_of(a), a->id, view->why);
}

static enum err note_view(struct attachment *a, const struct attachment_view *view, struct error *e)
{
	if (view->life != ATTACHMENT_ENDED)
		return ERR_OK;
	attachment_note_gone(a);
	return say_why(a, view, ERR_GONE, e);
}

enum err attachment_look(struct attachment *a, const struct call *call,
	struct attachment_view *view, struct error *e)
{
	enum err kind = attachment_check(a, e);

	*view = (struct attachment_view){ 0 };
	if (!kind)
		kind = attachment_note(a, a->ops->look(a, call, view, e), e);
	return kind ? kind : note_view(a, view, e);
}

/* A sandbox on its way to running. */
struct finding {
	struct attachment *a;
	bool is_asked; /* a user asks for the sandbox to run, and for no more */
	bool is_woken;
	bool has_info; /* the view's info is of a sandbox that runs */
	char was[sizeof((struct attachment_view *)0)->state];
	struct attachment_view view;
};

/* ERR_GONE: a sandbox that rests must not be woken for this call. */
static enum err may_wake(const struct finding *f, const struct call *call, struct error *e)
{
	const struct attachment *a = f->a;

	if (f->is_asked)
		return ERR_OK;
	if (a->resume == RESUME_NEVER)
		return error_set(e, ERR_GONE,
			"sandbox %s:%s is %s; -o resume=access lets a mount %s it", vendor_of(a),
			a->id, f->view.state, a->ops->wake_word);
	if (call && call->is_background)
		return error_set(e, ERR_GONE, "sandbox %s:%s is %s, and %s when somebody uses it",
			vendor_of(a), a->id, f->view.state, a->ops->wakes_word);
	return ERR_OK;
}

static enum err wake(struct finding *f, const struct call *call, struct error *e)
{
	struct attachment *a = f->a;
	struct error why = { 0 };
	enum err kind = may_wake(f, call, e);

	if (kind)
		return kind;
	memcpy(f->was, f->view.state, sizeof f->was);
	f->view.life = ATTACHMENT_CHANGES;
	f->has_info = false;
	kind = attachment_note(a, a->ops->wake(a, call, &f->view, &why), &why);
	f->is_woken = f->is_woken || !kind;
	/* The state is changing already, and the next look shows the new one. */
	return kind && kind != ERR_BUSY ? error_set(e, kind, "%s", why.text)
					: note_view(a, &f->view, e);
}

static enum err await(struct finding *f, const struct call *call, struct error *e)
{
	enum err kind = attachment_note(f->a, f->a->ops->await(f->a, call, &f->view, e), e);

	f->has_info = !kind;
	return kind ? kind : note_view(f->a, &f->view, e);
}

static bool is_to_be_woken(const struct finding *f)
{
	return f->view.life == ATTACHMENT_RESTS ||
		(f->view.life == ATTACHMENT_FAILED && f->is_asked && !f->is_woken);
}

static enum err bring_nearer(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct finding *f = context;
	enum err kind = attachment_look(f->a, call, &f->view, e);

	f->has_info = !kind;
	if (!kind && is_to_be_woken(f))
		kind = wake(f, call, e);
	if (!kind && f->view.life == ATTACHMENT_CHANGES && f->a->ops->await)
		kind = await(f, call, e);
	if (!kind && (f->view.life == ATTACHMENT_FAILED || f->view.life == ATTACHMENT_BROKEN))
		kind = say_why(f->a, &f->view, ERR_UNREACHABLE, e);
	*is_done = f->view.life == ATTACHMENT_RUNS;
	return kind;
}

static enum err make_run(struct finding *f, const struct call *call, struct error *e)
{
	struct error why = { 0 };
	enum err kind = wait_for_state(
		call, call_ready_ms(call), "waiting for the sandbox to run", bring_nearer, f, &why);

	if (!kind && f->is_woken)
		log_info(LOG_PROVIDER, "%s:%s was %s and %s", vendor_of(f->a), f->a->id, f->was,
			f->a->ops->woken_word);
	if (kind == ERR_TIMEOUT && f->view.life == ATTACHMENT_CHANGES && !f->a->ops->await)
		return error_set(e, kind, "%.300s: its state is '%s'", why.text, f->view.state);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err attachment_find(struct attachment *a, const struct call *call, struct error *e)
{
	struct finding f = { .a = a };
	enum err kind = make_run(&f, call, e);

	if (!kind && a->ops->adopt)
		kind = a->ops->adopt(a, call, e);
	if (!kind && f.has_info)
		attachment_remember(a, &f.view.info);
	return kind;
}

/* ---- The way of every verb to the sandbox ---- */

static bool may_be_explained(const struct attachment *a, enum err kind)
{
	const enum err *one = a->ops->explained;

	while (*one && *one != kind)
		one++;
	return *one;
}

struct reaching {
	struct attachment *a;
	attachment_step step;
	void *context;
	bool is_away; /* the sandbox still answers ERR_GONE */
};

static enum err step_again(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct reaching *r = context;
	struct error why = { 0 };
	bool may_be_done;
	enum err kind = r->step(r->a, call, r->context, &may_be_done, &why);

	r->is_away = kind == ERR_GONE && !provider_is_gone(&r->a->base);
	*is_done = !r->is_away;
	return *is_done && kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* `before` is the first step's error. */
static enum err reach_again(
	struct reaching *r, const struct call *call, const struct error *before, struct error *e)
{
	const struct attachment *a = r->a;
	struct error why = { 0 };
	enum err kind = wait_for_state(
		call, a->ops->route_ms, "reaching the sandbox's daemon", step_again, r, &why);

	if (kind == ERR_TIMEOUT && r->is_away)
		return error_set(e, ERR_UNREACHABLE, "sandbox %s:%s %s%s%.200s", vendor_of(a),
			a->id, a->ops->away, a->ops->route_ms ? ": " : "",
			a->ops->route_ms ? before->text : "");
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err attachment_reach(struct attachment *a, const struct call *call, attachment_step step,
	void *context, struct error *e)
{
	struct reaching r = { .a = a, .step = step, .context = context };
	unsigned addresses = atomic_load(&a->addresses);
	struct error why = { 0 };
	bool is_done = false;
	enum err kind = attachment_check(a, e), found;

	if (kind)
		return kind;
	kind = step(a, call, context, &is_done, &why);
	if (is_done || !may_be_explained(a, kind))
		return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
	found = attachment_find(a, call, e);
	if (found)
		return found;
	if (kind == ERR_AUTH && addresses == atomic_load(&a->addresses))
		return error_set(e, kind, "%s", why.text);
	return reach_again(&r, call, &why, e);
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

enum err attachment_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct attachment *a = attachment_of(p);
	struct attachment_view view;
	enum err kind;

	if (!attachment_take_found(a, out)) {
		kind = attachment_look(a, call, &view, e);
		if (kind)
			return kind;
		*out = view.info;
	}
	attachment_describe(a, out);
	return ERR_OK;
}

enum err attachment_resume(struct provider *p, const struct call *call, struct error *e)
{
	struct finding f = { .a = attachment_of(p), .is_asked = true };

	return make_run(&f, call, e);
}

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
