#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/wait.h"
#include "providers/daytona/daytona.h"
#include "providers/daytona/wish.h"
#include "providers/rest/logs.h"

#include <stdio.h>
#include <string.h>

/* ---- Changes of state ---- */

struct transition {
	const struct rest *control;
	const char *id;
	enum daytona_action action;
};

/* The service refuses a change while another is under way. */
static enum err try_change(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct transition *t = context;
	struct error why = { 0 };
	enum err kind = daytona_act(t->control, call, t->id, t->action, &why);

	*is_done = kind != ERR_BUSY;
	return *is_done && kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err change(
	struct transition t, const struct call *call, const char *what, struct error *e)
{
	return wait_for_state(call, call_ready_ms(call), what, try_change, &t, e);
}

/* ---- A new sandbox ---- */

static enum err ping_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	(void)context;
	*is_done = false;
	return toolbox_ping(&daytona_of(&a->base)->toolbox, call, e);
}

static enum err wait_until_ready(struct daytona *d, const struct call *call, struct error *e)
{
	enum err kind = attachment_find(&d->at, call, e);

	return kind ? kind : attachment_reach(&d->at, call, ping_step, NULL, e);
}

/* *id: the ID of a sandbox that was made, also on failure; "": none was made. */
static enum err make(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	struct daytona_sandbox made = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	if (!kind)
		kind = daytona_make(&account.rest, call, cfg, &made, e);
	memcpy(id, made.id, sizeof made.id);
	return kind;
}

static enum err daytona_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct daytona *d = NULL;
	enum err kind = make(cfg, call, id, e);

	if (!kind)
		kind = daytona_new(&d, cfg, id, e);
	if (!kind && cfg->image)
		kind = daytona_wait_for_build(d, cfg, call, e);
	if (!kind)
		kind = wait_until_ready(d, call, e);
	if (kind)
		attachment_discard(&daytona_provider, cfg, id);
	return kind;
}

/* ---- All sandboxes, and one by its name ---- */

static enum err daytona_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	return kind ? kind : daytona_list(&account.rest, call, sink, context, e);
}

static enum err daytona_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct daytona *d = NULL;
	enum err kind = daytona_new(&d, cfg, cfg->id, e);

	return kind ? kind
		    : change((struct transition){ &d->account.rest, d->at.id, DAYTONA_DELETE },
			      call, "deleting the sandbox", e);
}

static enum err daytona_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_ATTACHMENT struct daytona *d = NULL;
	enum err kind = daytona_new(&d, cfg, cfg->id, e);

	if (kind)
		return kind;
	kind = cfg->account_only ? daytona_know(d, call, e) : attachment_find(&d->at, call, e);
	/* Programs begin in the image's working directory, which the script finds out. */
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&d->at, &daytona_remote, cfg, ".", call, e);
	if (!kind)
		*out = &take(d)->at.base;
	return kind;
}

/* ---- Pause: the sandbox is stopped, and its files are kept ---- */

static enum err look_until_it_rests(
	void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct daytona *d = context;
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (kind)
		return kind;
	*is_done = sandbox.life == DAYTONA_RESTS;
	if (sandbox.life == DAYTONA_BROKEN || sandbox.life == DAYTONA_FAILED)
		return error_set(
			e, ERR_IO, "sandbox daytona:%s did not stop: %s", d->at.id, sandbox.why);
	return ERR_OK;
}

static enum err stop(struct daytona *d, const struct call *call, struct error *e)
{
	const struct transition stopping = { &d->account.rest, d->at.id, DAYTONA_STOP };
	enum err kind =
		attachment_note(&d->at, change(stopping, call, "stopping the sandbox", e), e);

	return kind ? kind
		    : wait_for_state(call, call_ready_ms(call), "waiting for the sandbox to stop",
			      look_until_it_rests, d, e);
}

static enum err daytona_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (kind || sandbox.life == DAYTONA_RESTS)
		return kind;
	if (sandbox.is_ephemeral)
		return error_set(e, ERR_UNSUPPORTED,
			"daytona:%s is ephemeral: to stop it deletes it", d->at.id);
	return stop(d, call, e);
}

/* ---- Extend ---- */

static void note_interval(struct daytona *d, enum daytona_interval interval, int64_t seconds)
{
	pthread_mutex_lock(&d->at.lock);
	if (interval == DAYTONA_TTL) {
		d->seen.destroyed_s = seconds;
		d->seen_ms = monotonic_ms();
	} else {
		d->seen.idle_s = seconds;
	}
	pthread_mutex_unlock(&d->at.lock);
}

static enum err set_interval(struct daytona *d, const struct call *call,
	enum daytona_interval interval, int64_t seconds, struct error *e)
{
	enum err kind = attachment_note(&d->at,
		daytona_set_interval(&d->account.rest, call, d->at.id, interval, seconds, e), e);

	if (!kind)
		note_interval(d, interval, seconds);
	return kind;
}

/* The idle time begins again with each use, so a touch is enough where it is long enough. */
static enum err extend_idle(struct daytona *d, const struct call *call,
	const struct daytona_sandbox *seen, int64_t seconds, struct error *e)
{
	enum err kind = ERR_OK;

	if (!seen->idle_s)
		return ERR_OK;
	if (seconds > seen->idle_s)
		kind = set_interval(
			d, call, seen->pauses ? DAYTONA_AUTOPAUSE : DAYTONA_AUTOSTOP, seconds, e);
	return kind ? kind
		    : attachment_note(&d->at,
			      daytona_act(&d->account.rest, call, d->at.id, DAYTONA_TOUCH, e), e);
}

static enum err daytona_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct daytona_sandbox seen;
	enum err kind = attachment_check(&d->at, e);

	daytona_seen(d, &seen);
	if (!kind)
		kind = extend_idle(d, call, &seen, seconds, e);
	if (!kind && seen.destroyed_s >= 0 && seen.destroyed_s < seconds)
		kind = set_interval(d, call, DAYTONA_TTL, seconds, e);
	return kind;
}

/* ---- The network ---- */

static enum err daytona_change_network(struct provider *p, const struct call *call, bool blocked,
	const char *const *allowed, struct error *e)
{
	struct daytona *d = daytona_of(p);

	return attachment_note(&d->at,
		daytona_set_network(&d->account.rest, call, d->at.id, blocked, allowed, e), e);
}

/* ---- The log ---- */

/* The service has the newest line first, and wants a time of the beginning and of the end. */
static enum err daytona_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	static const struct rest_log log = { .lines = "items",
		.time = "timestamp",
		.kind = "severityText",
		.text = "body",
		.is_newest_first = true };
	struct daytona *d = daytona_of(p);
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/sandbox/",
		.about = d->at.id,
		.below = "/telemetry/logs?from=1970-01-01T00:00:00Z&to=2200-01-01T00:00:00Z"
			 "&limit=1000",
		.id = d->at.id,
		.what = "reading the log" };

	return rest_logs(&d->account.rest, call, &ask, &log, sink, context, e);
}

/* ---- A port ---- */

static enum err daytona_url(struct provider *p, const struct call *call, unsigned port,
	struct buf *out, struct error *e)
{
	struct daytona *d = daytona_of(p);
	enum err kind = attachment_check(&d->at, e);

	return kind ? kind
		    : attachment_note(&d->at,
			      daytona_port_url(&d->account.rest, call, d->at.id, port, out, e), e);
}

/*
 * The helper does list, fetch and apply: the daemon follows links, does not show broken ones and
 * never replaces a file as a whole.
 */
const struct provider_ops daytona_provider = {
	.name = "daytona",
	.title = "Daytona",
	.key_names = "DAYTONA_API_KEY",
	.login = &daytona_login,
	.caps = PROVIDER_TAKES_HEADERS | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = WISH_OPTIONS,
	.connect_options = OPTION_LIFETIME | OPTION_USER | OPTION_RESUME_NEVER,
	.create = daytona_create,
	.connect = daytona_connect,
	.release = daytona_release,
	.info = attachment_info,
	.list_sandboxes = daytona_list_sandboxes,
	.delete = daytona_delete,
	.pause = daytona_pause,
	.resume = attachment_resume,
	.extend = daytona_extend,
	.snapshot = daytona_snapshot,
	.list_snapshots = daytona_list_snapshots,
	.delete_snapshot = daytona_delete_snapshot,
	.fork = daytona_fork,
	.set_network = daytona_change_network,
	.logs = daytona_logs,
	.url = daytona_url,
	.execute = attachment_execute,
	.watch = attachment_watch,
};
