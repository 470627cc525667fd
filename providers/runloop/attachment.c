#include "providers/runloop/runloop.h"

#include <stdio.h>

/* ---- The state of the devbox ---- */

/* The answer of `kind` about the devbox. */
static enum err take(
	struct runloop *b, enum err kind, const struct devbox *d, struct attachment_view *view)
{
	static const enum attachment_life lives[] = {
		[DEVBOX_STARTING] = ATTACHMENT_CHANGES,
		[DEVBOX_RUNNING] = ATTACHMENT_RUNS,
		[DEVBOX_SUSPENDING] = ATTACHMENT_RESTS,
		[DEVBOX_SUSPENDED] = ATTACHMENT_RESTS,
		[DEVBOX_ENDED] = ATTACHMENT_ENDED,
	};

	if (kind)
		return kind;
	pthread_mutex_lock(&b->at.lock);
	b->seen = *d;
	view->info.expires_s = devbox_left_s(d, rest_now_s(&b->api.rest), b->kept_ms);
	pthread_mutex_unlock(&b->at.lock);
	view->info.state = devbox_state(d);
	view->life = lives[d->phase];
	snprintf(view->state, sizeof view->state, "suspended");
	snprintf(view->why, sizeof view->why, "has ended: %s%s%s", d->status,
		*d->reason ? ", " : "", d->reason);
	return ERR_OK;
}

static enum err look(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct devbox d;
	enum err kind = devbox_look(&runloop_of(&a->base)->api.rest, call, a->id, &d, e);

	return take(runloop_of(&a->base), kind, &d, view);
}

void runloop_seen(struct runloop *b, struct devbox *out)
{
	pthread_mutex_lock(&b->at.lock);
	*out = b->seen;
	pthread_mutex_unlock(&b->at.lock);
}

/* ---- Making the devbox run ---- */

static enum err await_phase(struct attachment *a, const struct call *call, enum devbox_phase wanted,
	struct attachment_view *view, struct error *e)
{
	struct devbox d;
	enum err kind = devbox_wait(&runloop_of(&a->base)->api.rest, call, a->id, wanted, &d, e);

	return take(runloop_of(&a->base), kind, &d, view);
}

static enum err await(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	return await_phase(a, call, DEVBOX_RUNNING, view, e);
}

static enum err wake(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct devbox d;
	enum err kind = ERR_OK;

	runloop_seen(runloop_of(&a->base), &d);
	if (d.phase == DEVBOX_SUSPENDING)
		kind = await_phase(a, call, DEVBOX_SUSPENDED, view, e);
	if (kind || view->life == ATTACHMENT_ENDED)
		return kind;
	view->life = ATTACHMENT_CHANGES;
	kind = devbox_act(&runloop_of(&a->base)->api.rest, call, a->id, "resume", e);
	/* The devbox is not suspended any more: another client was faster. */
	return kind == ERR_INVALID ? ERR_BUSY : kind;
}

/* A refusal that the devbox's state may explain: it is unknown, or in no state for the request. */
const struct attachment_ops runloop_attachment = {
	.look = look,
	.wake = wake,
	.await = await,
	.wake_word = "resume",
	.wakes_word = "resumed",
	.woken_word = "runs again",
	.explained = { ERR_NOT_FOUND, ERR_INVALID },
	.away = "runs, but cannot be reached",
};
