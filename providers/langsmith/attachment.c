#include "providers/base/log.h"
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

static void note_found(struct langsmith *l, const struct box *b)
{
	pthread_mutex_lock(&l->at.lock);
	l->found = *b;
	l->is_stopped = b->status == BOX_STOPPED;
	pthread_mutex_unlock(&l->at.lock);
}

static void note_use(struct langsmith *l)
{
	pthread_mutex_lock(&l->at.lock);
	l->used_ms = monotonic_ms();
	pthread_mutex_unlock(&l->at.lock);
}

/* The time that an answer proves a running sandbox: a request may be on its way as long. */
#define RAN_HOLDS_MS 500

/* A command that took longer proves nothing: a stop may have ended it. */
static void note_answer(struct langsmith *l, enum err kind, int64_t asked_ms)
{
	int64_t now_ms = monotonic_ms();

	pthread_mutex_lock(&l->at.lock);
	l->ran_ms = kind || now_ms - asked_ms >= RAN_HOLDS_MS ? 0 : now_ms;
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

void langsmith_describe(struct langsmith *l, const struct box *b, struct sandbox_info *out)
{
	box_describe(b, out);
	out->expires_s = ends_s(l, b);
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

static enum err check_alive(struct langsmith *l, const struct box *b, struct error *e)
{
	if (b->status != BOX_DELETING)
		return ERR_OK;
	attachment_note_gone(&l->at);
	return error_set(e, ERR_GONE, "sandbox langsmith:%s is being deleted%s%s", l->at.id,
		*b->message ? ": " : "", b->message);
}

static enum err check_usable(struct langsmith *l, const struct box *b, struct error *e)
{
	struct sandbox_info info;

	if (b->status != BOX_FAILED)
		return check_alive(l, b, e);
	box_describe(b, &info);
	return error_set(
		e, ERR_UNREACHABLE, "sandbox langsmith:%s has failed: %s", l->at.id, info.warning);
}

enum err langsmith_look(
	struct langsmith *l, const struct call *call, struct box *out, struct error *e)
{
	enum err kind = attachment_check(&l->at, e);

	if (!kind)
		kind = attachment_note(
			&l->at, box_get(&l->account.rest, call, l->at.id, out, e), e);
	if (kind)
		return kind;
	note_found(l, out);
	return check_alive(l, out, e);
}

/* ---- Starting the sandbox ---- */

static enum err wait_until_ready(
	struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	enum err kind = box_wait(&l->account.rest, call, l->at.id, b, e);

	if (!kind)
		kind = check_usable(l, b, e);
	return kind ? kind : langsmith_look(l, call, b, e);
}

/* Whether the sandbox is not stopped any more: somebody else started it, and the caller waits. */
static bool is_late(enum err kind)
{
	return kind == ERR_INVALID || kind == ERR_BUSY;
}

static enum err start(struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	struct error why = { 0 };
	enum err kind = box_act(&l->account.rest, call, l->at.id, "start", &why);

	if (kind && !is_late(kind))
		return error_set(e, kind, "%s", why.text);
	kind = wait_until_ready(l, call, b, e);
	if (kind)
		return kind;
	/* Connections from before the stop are dead, and only their silence would show it. */
	http_drop_connections(l->account.http);
	note_use(l);
	log_info(LOG_PROVIDER, "langsmith:%s did not run and is started", l->at.id);
	return ERR_OK;
}

static enum err start_if_allowed(
	struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	enum err kind = attachment_may_wake(&l->at, call, "stopped", "start", "started", e);

	return kind ? kind : start(l, call, b, e);
}

enum err langsmith_wake(struct langsmith *l, const struct call *call, struct error *e)
{
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || b.status == BOX_READY)
		return kind;
	return b.status == BOX_PROVISIONING ? wait_until_ready(l, call, &b, e)
					    : start(l, call, &b, e);
}

static enum err make_ready(struct langsmith *l, const struct call *call, struct error *e)
{
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (!kind && b.status == BOX_STOPPED)
		kind = start_if_allowed(l, call, &b, e);
	else if (!kind && b.status == BOX_PROVISIONING)
		kind = wait_until_ready(l, call, &b, e);
	else if (!kind)
		kind = check_usable(l, &b, e);
	return kind;
}

/* A sandbox keeps its data plane's address when it stops and starts. */
static enum err adopt(struct langsmith *l, struct error *e)
{
	if (!*l->found.dataplane_url)
		return error_set(e, ERR_UNSUPPORTED,
			"langsmith:%s: the service gives no dataplane_url, without which nothing "
			"in a sandbox can be reached; a deployment of one's own needs its "
			"sandbox router configured",
			l->at.id);
	memcpy(l->at.id, l->found.id, sizeof l->at.id);
	return rest_account_reach(&l->account, l->found.dataplane_url, langsmith_verdict,
		&langsmith_frame, &l->data, e);
}

static void remember(struct langsmith *l)
{
	struct sandbox_info found;

	langsmith_describe(l, &l->found, &found);
	attachment_remember(&l->at, &found);
}

enum err langsmith_find(struct langsmith *l, const struct call *call, struct error *e)
{
	enum err kind = make_ready(l, call, e);

	if (!kind)
		kind = adopt(l, e);
	note_answer(l, kind, monotonic_ms());
	note_use(l);
	if (!kind)
		remember(l);
	return kind;
}

/* ---- Every verb's way to the sandbox ---- */

static enum err step_again(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e)
{
	enum err kind = make_ready(l, call, e);

	if (!kind)
		kind = step(l, call, context, e);
	if (kind == ERR_GONE && !attachment_check(&l->at, NULL))
		return error_set(e, ERR_UNREACHABLE,
			"sandbox langsmith:%s is ready, but its data plane does not know it",
			l->at.id);
	return kind;
}

enum err langsmith_reach(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e)
{
	struct error why = { 0 };
	enum err kind = attachment_check(&l->at, e);

	if (!kind && (may_be_stopped(l) || must_not_wake(l, call)))
		kind = make_ready(l, call, e);
	if (kind)
		return kind;
	int64_t asked_ms = monotonic_ms();

	kind = step(l, call, context, &why);
	note_answer(l, kind, asked_ms);
	if (kind == ERR_GONE)
		return step_again(l, call, step, context, e);
	note_use(l);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}
