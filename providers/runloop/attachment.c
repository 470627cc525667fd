#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/runloop/runloop.h"

#include <string.h>

/* ---- The state of the devbox ---- */

static enum err check_alive(struct runloop *b, const struct devbox *d, struct error *e)
{
	if (d->phase != DEVBOX_ENDED)
		return ERR_OK;
	attachment_note_gone(&b->at);
	return error_set(e, ERR_GONE, "sandbox runloop:%s has ended: %s%s%s", b->at.id, d->status,
		*d->reason ? ", " : "", d->reason);
}

enum err runloop_look(
	struct runloop *b, const struct call *call, struct devbox *out, struct error *e)
{
	enum err kind = attachment_check(&b->at, e);

	if (!kind)
		kind = attachment_note(
			&b->at, devbox_look(&b->api.rest, call, b->at.id, out, e), e);
	return kind ? kind : check_alive(b, out, e);
}

/* ---- Making the devbox run ---- */

static enum err wait_for(struct runloop *b, const struct call *call, enum devbox_phase wanted,
	struct devbox *d, struct error *e)
{
	enum err kind = devbox_wait(&b->api.rest, call, b->at.id, wanted, d, e);

	return kind ? kind : check_alive(b, d, e);
}

static enum err wake(struct runloop *b, const struct call *call, struct devbox *d, struct error *e)
{
	struct error why = { 0 };
	enum err kind = ERR_OK;

	if (d->phase == DEVBOX_SUSPENDING)
		kind = wait_for(b, call, DEVBOX_SUSPENDED, d, e);
	if (kind)
		return kind;
	kind = devbox_act(&b->api.rest, call, b->at.id, "resume", &why);
	/*
	 * ERR_INVALID: the devbox is not suspended any more. Another client was faster, and the
	 * wait below covers that as well.
	 */
	if (kind && kind != ERR_INVALID)
		return error_set(e, kind, "%s", why.text);
	kind = wait_for(b, call, DEVBOX_RUNNING, d, e);
	if (!kind)
		log_info(LOG_PROVIDER, "runloop:%s was suspended and runs again", b->at.id);
	return kind;
}

enum err runloop_wake(struct runloop *b, const struct call *call, struct error *e)
{
	struct devbox d;
	enum err kind = runloop_look(b, call, &d, e);

	if (kind || d.phase == DEVBOX_RUNNING)
		return kind;
	return d.phase == DEVBOX_STARTING ? wait_for(b, call, DEVBOX_RUNNING, &d, e)
					  : wake(b, call, &d, e);
}

static enum err wake_if_allowed(
	struct runloop *b, const struct call *call, struct devbox *d, struct error *e)
{
	enum err kind = attachment_may_wake(&b->at, call, "suspended", "resume", "resumed", e);

	return kind ? kind : wake(b, call, d, e);
}

enum err runloop_find(struct runloop *b, const struct call *call, struct error *e)
{
	struct devbox d;
	enum err kind = runloop_look(b, call, &d, e);

	if (!kind && d.phase == DEVBOX_STARTING)
		kind = wait_for(b, call, DEVBOX_RUNNING, &d, e);
	else if (!kind && d.phase != DEVBOX_RUNNING)
		kind = wake_if_allowed(b, call, &d, e);
	if (!kind)
		attachment_remember(&b->at,
			&(struct sandbox_info){ .state = devbox_state(&d),
				.expires_s = devbox_left_s(&d, rest_now_s(&b->api.rest), 0) });
	return kind;
}

/* ---- The way of every verb to the devbox ---- */

/* A refusal that the devbox's state may explain: it is unknown, or in no state for the request. */
static bool is_worth_asking(enum err kind)
{
	return kind == ERR_NOT_FOUND || kind == ERR_INVALID;
}

enum err runloop_reach(struct runloop *b, const struct call *call, runloop_step step, void *context,
	struct error *e)
{
	struct error why = { 0 };
	bool is_done = false;
	enum err kind = attachment_check(&b->at, e), found;

	if (kind)
		return kind;
	kind = step(b, call, context, &is_done, &why);
	if (is_worth_asking(kind) && !is_done) {
		found = runloop_find(b, call, e);
		if (found)
			return found;
		kind = step(b, call, context, &is_done, &why);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}
