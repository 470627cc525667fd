#include "providers/langsmith/langsmith.h"
#include "providers/langsmith/verdict.h"

#include <stdio.h>
#include <string.h>

/* ---- The sandbox's last known state ---- */

void langsmith_note_stopped(struct langsmith *l)
{
	pthread_mutex_lock(&l->at.lock);
	l->is_stopped = true;
	pthread_mutex_unlock(&l->at.lock);
}

static void note_box(struct langsmith *l, const struct box *b)
{
	pthread_mutex_lock(&l->at.lock);
	l->found = *b;
	l->is_stopped = b->status == BOX_STOPPED;
	if (b->status != BOX_READY)
		l->ran_ms = 0;
	pthread_mutex_unlock(&l->at.lock);
}

/* The time that an answer proves a running sandbox: a request may be on its way as long. */
#define RAN_HOLDS_MS 500

/*
 * The sandbox was used, with this result. A command that took longer proves nothing: a stop may
 * have ended it.
 */
static void note_use(struct langsmith *l, enum err kind, int64_t asked_ms)
{
	int64_t now_ms = monotonic_ms();

	pthread_mutex_lock(&l->at.lock);
	l->ran_ms = kind || now_ms - asked_ms >= RAN_HOLDS_MS ? 0 : now_ms;
	l->used_ms = now_ms;
	pthread_mutex_unlock(&l->at.lock);
}

static int64_t ends_s(struct langsmith *l, const struct box *b)
{
	int64_t unused_s, left_s = box_ends_s(b);

	if (b->status != BOX_READY || left_s < 0)
		return left_s;
	pthread_mutex_lock(&l->at.lock);
	unused_s = l->used_ms ? (monotonic_ms() - l->used_ms) / 1000 : 0;
	pthread_mutex_unlock(&l->at.lock);
	return left_s > unused_s ? left_s - unused_s : 0;
}

/* True is no proof of a stop: others may use the sandbox too, or have changed its idle time. */
static bool may_be_stopped(struct langsmith *l)
{
	bool may_be;

	pthread_mutex_lock(&l->at.lock);
	may_be = l->is_stopped ||
		(l->found.idle_s > 0 && monotonic_ms() - l->used_ms >= l->found.idle_s * 1000);
	pthread_mutex_unlock(&l->at.lock);
	return may_be;
}

/*
 * The router starts a stopped sandbox for any request. So a background call asks the control plane
 * first, unless an answer just showed that the sandbox runs.
 */
static bool must_not_wake(struct langsmith *l, const struct call *call)
{
	if (!call || !call->is_background)
		return false;
	pthread_mutex_lock(&l->at.lock);
	bool is_known_to_run = l->ran_ms && monotonic_ms() - l->ran_ms < RAN_HOLDS_MS;

	pthread_mutex_unlock(&l->at.lock);
	return !is_known_to_run;
}

/* ---- The control plane ---- */

static enum err look(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	static const enum attachment_life lives[] = {
		[BOX_PROVISIONING] = ATTACHMENT_CHANGES,
		[BOX_READY] = ATTACHMENT_RUNS,
		[BOX_FAILED] = ATTACHMENT_FAILED,
		[BOX_STOPPED] = ATTACHMENT_RESTS,
		[BOX_DELETING] = ATTACHMENT_ENDED,
	};
	struct box b;
	enum err kind = box_get(&langsmith_of(&a->base)->account.rest, call, a->id, &b, e);

	if (kind)
		return kind;
	note_box(langsmith_of(&a->base), &b);
	box_describe(&b, &view->info);
	view->info.expires_s = ends_s(langsmith_of(&a->base), &b);
	view->life = lives[b.status];
	snprintf(view->state, sizeof view->state, "%s",
		b.status == BOX_FAILED ? "failed" : "stopped");
	if (b.status == BOX_FAILED)
		snprintf(view->why, sizeof view->why, "has failed: %s", view->info.warning);
	else
		snprintf(view->why, sizeof view->why, "is being deleted%s%s",
			*b.message ? ": " : "", b.message);
	return ERR_OK;
}

enum err langsmith_look(
	struct langsmith *l, const struct call *call, struct box *out, struct error *e)
{
	struct attachment_view view;
	enum err kind = attachment_look(&l->at, call, &view, e);

	pthread_mutex_lock(&l->at.lock);
	*out = l->found;
	pthread_mutex_unlock(&l->at.lock);
	return kind;
}

/* ---- Starting the sandbox ---- */

static enum err wake(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	enum err kind = box_act(&langsmith_of(&a->base)->account.rest, call, a->id, "start", e);

	(void)view;
	/* Connections from before the stop are dead, and only their silence would show it. */
	http_drop_connections(langsmith_of(&a->base)->account.http);
	note_use(langsmith_of(&a->base), ERR_OK, monotonic_ms());
	/* The sandbox is not stopped any more: somebody else started it. */
	return kind == ERR_INVALID ? ERR_BUSY : kind;
}

static enum err await(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct box b;
	enum err kind = box_wait(&langsmith_of(&a->base)->account.rest, call, a->id, &b, e);

	return kind ? kind : look(a, call, view, e);
}

/* A sandbox keeps its data plane's address when it stops and starts. */
static enum err adopt(struct attachment *a, const struct call *call, struct error *e)
{
	struct langsmith *l = langsmith_of(&a->base);

	(void)call;
	note_use(l, ERR_OK, monotonic_ms());
	if (l->data.base_url)
		return ERR_OK;
	if (!*l->found.dataplane_url)
		return error_set(e, ERR_UNSUPPORTED,
			"langsmith:%s: the service gives no dataplane_url, without which nothing "
			"in a sandbox can be reached; a deployment of one's own needs its "
			"sandbox router configured",
			a->id);
	memcpy(a->id, l->found.id, sizeof a->id);
	return rest_account_reach(&l->account, l->found.dataplane_url, langsmith_verdict,
		&langsmith_frame, &l->data, e);
}

const struct attachment_ops langsmith_attachment = {
	.look = look,
	.wake = wake,
	.await = await,
	.adopt = adopt,
	.wake_word = "start",
	.wakes_word = "started",
	.woken_word = "is started",
	.explained = { ERR_GONE },
	.away = "is ready, but its data plane does not know it",
};

/* ---- Every verb's way to the sandbox ---- */

struct timed {
	langsmith_step step;
	void *context;
};

static enum err timed_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	const struct timed *n = context;
	int64_t asked_ms = monotonic_ms();
	enum err kind = n->step(langsmith_of(&a->base), call, n->context, e);

	*is_done = false;
	note_use(langsmith_of(&a->base), kind, asked_ms);
	return kind;
}

enum err langsmith_reach(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e)
{
	struct timed n = { step, context };
	enum err kind = may_be_stopped(l) || must_not_wake(l, call)
		? attachment_find(&l->at, call, e)
		: ERR_OK;

	return kind ? kind : attachment_reach(&l->at, call, timed_step, &n, e);
}
