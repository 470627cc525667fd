#include "providers/base/log.h"
#include "providers/langsmith/langsmith.h"

#include <stdio.h>
#include <string.h>

/* ---- What is known of it ---- */

static enum err say_gone(const struct langsmith *l, struct error *e)
{
	return error_set(e, ERR_GONE, "sandbox langsmith:%s is gone", l->id);
}

static enum err check(struct langsmith *l, struct error *e)
{
	bool is_gone;

	pthread_mutex_lock(&l->lock);
	is_gone = l->is_gone;
	pthread_mutex_unlock(&l->lock);
	return is_gone ? say_gone(l, e) : ERR_OK;
}

static void note_gone(struct langsmith *l)
{
	pthread_mutex_lock(&l->lock);
	l->is_gone = true;
	pthread_mutex_unlock(&l->lock);
}

void langsmith_note_stopped(struct langsmith *l)
{
	pthread_mutex_lock(&l->lock);
	l->is_stopped = true;
	pthread_mutex_unlock(&l->lock);
}

static void note_found(struct langsmith *l, const struct box *b)
{
	pthread_mutex_lock(&l->lock);
	l->found = *b;
	l->is_stopped = b->status == BOX_STOPPED;
	pthread_mutex_unlock(&l->lock);
}

static void note_use(struct langsmith *l)
{
	pthread_mutex_lock(&l->lock);
	l->used_ms = monotonic_ms();
	pthread_mutex_unlock(&l->lock);
}

/* What an answer has shown holds for so long: a request may be on its way for that time. */
#define RAN_HOLDS_MS 500

/* A longer command may have been ended by a stop. */
static void note_answer(struct langsmith *l, enum err kind, int64_t asked_ms)
{
	int64_t now_ms = monotonic_ms();

	pthread_mutex_lock(&l->lock);
	l->ran_ms = kind || now_ms - asked_ms >= RAN_HOLDS_MS ? 0 : now_ms;
	pthread_mutex_unlock(&l->lock);
}

int64_t langsmith_ends_s(struct langsmith *l, const struct box *b)
{
	int64_t unused_s, left_s = box_ends_s(b);

	if (b->status != BOX_READY || left_s < 0)
		return left_s;
	pthread_mutex_lock(&l->lock);
	unused_s = l->used_ms ? (monotonic_ms() - l->used_ms) / 1000 : 0;
	pthread_mutex_unlock(&l->lock);
	return left_s > unused_s ? left_s - unused_s : 0;
}

/* Others may use it too, or have changed how long it may be idle: so this is a doubt and no more. */
static bool may_be_stopped(struct langsmith *l)
{
	bool may_be;

	pthread_mutex_lock(&l->lock);
	may_be = l->is_stopped ||
		(l->found.idle_s > 0 && monotonic_ms() - l->used_ms >= l->found.idle_s * 1000);
	pthread_mutex_unlock(&l->lock);
	return may_be;
}

/*
 * The router starts a stopped sandbox for any request. So a call that must not wake one asks the control
 * plane first, unless an answer just showed that the sandbox runs.
 */
static bool must_not_wake(struct langsmith *l, const struct call *call)
{
	if (!call || !call->is_background)
		return false;
	pthread_mutex_lock(&l->lock);
	bool is_known_to_run = l->ran_ms && monotonic_ms() - l->ran_ms < RAN_HOLDS_MS;

	pthread_mutex_unlock(&l->lock);
	return !is_known_to_run;
}

/* ---- What the control plane says ---- */

static enum err check_alive(struct langsmith *l, const struct box *b, struct error *e)
{
	if (b->status != BOX_FAILED && b->status != BOX_DELETING)
		return ERR_OK;
	note_gone(l);
	return error_set(e, ERR_GONE, "sandbox langsmith:%s %s%s%s", l->id,
		b->status == BOX_FAILED ? "has failed" : "is being deleted",
		*b->message ? ": " : "", b->message);
}

enum err langsmith_look(
	struct langsmith *l, const struct call *call, struct box *out, struct error *e)
{
	enum err kind = check(l, e);

	if (kind)
		return kind;
	kind = box_get(&l->account.control, call, l->id, out, e);
	/* One that was never attached may be somebody's typing mistake. */
	if (kind == ERR_NOT_FOUND && l->has_remote) {
		note_gone(l);
		return say_gone(l, e);
	}
	if (kind)
		return kind;
	note_found(l, out);
	return check_alive(l, out, e);
}

/* ---- Having it be ready ---- */

static enum err wait_until_ready(
	struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	enum err kind = box_wait(&l->account.control, call, l->id, b, e);

	if (!kind)
		kind = check_alive(l, b, e);
	return kind ? kind : langsmith_look(l, call, b, e);
}

/* It is not stopped any more: somebody else was faster, and what follows waits for the same. */
static bool is_late(enum err kind)
{
	return kind == ERR_INVALID || kind == ERR_BUSY;
}

static enum err start(struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	struct error why = { 0 };
	enum err kind = box_act(&l->account.control, call, l->id, "start", &why);

	if (kind && !is_late(kind))
		return error_set(e, kind, "%s", why.text);
	kind = wait_until_ready(l, call, b, e);
	if (kind)
		return kind;
	/* What stood before it stopped is dead, and would only be noticed by its silence. */
	http_drop_connections(l->account.http);
	note_use(l);
	log_info(LOG_PROVIDER, "langsmith:%s was stopped and runs again", l->id);
	return ERR_OK;
}

static enum err start_if_allowed(
	struct langsmith *l, const struct call *call, struct box *b, struct error *e)
{
	if (l->resume == RESUME_NEVER)
		return error_set(e, ERR_GONE,
			"sandbox langsmith:%s is stopped; -o resume=access lets a mount start it",
			l->id);
	if (call && call->is_background)
		return error_set(e, ERR_GONE,
			"sandbox langsmith:%s is stopped, and started when somebody uses it",
			l->id);
	return start(l, call, b, e);
}

enum err langsmith_wake(struct langsmith *l, const struct call *call, struct error *e)
{
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (kind || b.status == BOX_READY)
		return kind;
	return b.status == BOX_STOPPED ? start(l, call, &b, e) : wait_until_ready(l, call, &b, e);
}

static enum err make_ready(struct langsmith *l, const struct call *call, struct error *e)
{
	struct box b;
	enum err kind = langsmith_look(l, call, &b, e);

	if (!kind && b.status == BOX_STOPPED)
		kind = start_if_allowed(l, call, &b, e);
	else if (!kind && b.status == BOX_PROVISIONING)
		kind = wait_until_ready(l, call, &b, e);
	return kind;
}

/* Its address stays what it is when it stops and starts. */
static enum err adopt(struct langsmith *l, struct error *e)
{
	if (!*l->found.dataplane_url)
		return error_set(e, ERR_UNSUPPORTED,
			"langsmith:%s: the service gives no dataplane_url, without which nothing "
			"in a sandbox can be reached; a deployment of one's own needs its "
			"sandbox router configured",
			l->id);
	memcpy(l->id, l->found.id, sizeof l->id);
	return langsmith_account_reach(&l->account, l->found.dataplane_url, &l->data, e);
}

enum err langsmith_find(struct langsmith *l, const struct call *call, struct error *e)
{
	enum err kind = make_ready(l, call, e);

	if (!kind)
		kind = adopt(l, e);
	l->has_found = !kind;
	note_answer(l, kind, monotonic_ms());
	note_use(l);
	return kind;
}

/* ---- Every verb's way to it ---- */

static enum err step_again(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e)
{
	enum err kind = make_ready(l, call, e);

	if (!kind)
		kind = step(l, call, context, e);
	if (kind == ERR_GONE && !check(l, NULL))
		return error_set(e, ERR_UNREACHABLE,
			"sandbox langsmith:%s is ready, but its data plane does not know it",
			l->id);
	return kind;
}

enum err langsmith_reach(struct langsmith *l, const struct call *call, langsmith_step step,
	void *context, struct error *e)
{
	struct error why = { 0 };
	enum err kind = check(l, e);

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
