#include "providers/base/cleanup.h"
#include "providers/rest/logs.h"
#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <time.h>

/* A mount that does not live for so long costs no request for evictions. Design decision. */
#define UNWATCHED_MAX_MS 300000

/* ---- Attaching ---- */

/* A devbox that is suspended soon without use is watched sooner. */
static enum err watch_evictions(struct runloop *b, struct error *e)
{
	int64_t quarter_ms;

	pthread_mutex_lock(&b->at.lock);
	quarter_ms = b->at.found.expires_s * 1000 / 4;
	pthread_mutex_unlock(&b->at.lock);
	return evictions_new(&b->evictions, &b->api.rest, b->at.id,
		quarter_ms >= 0 && quarter_ms < UNWATCHED_MAX_MS ? quarter_ms : UNWATCHED_MAX_MS,
		e);
}

static enum err runloop_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_ATTACHMENT struct runloop *b = NULL;
	enum err kind = runloop_new(&b, cfg, e);

	if (!kind)
		kind = runloop_resolve(b, call, e);
	if (!kind && !cfg->account_only)
		kind = attachment_find(&b->at, call, e);
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&b->at, &runloop_remote, cfg, NULL, call, e);
	if (!kind && cfg->opening)
		kind = watch_evictions(b, e);
	if (!kind)
		*out = &take(b)->at.base;
	return kind;
}

static void runloop_warning(struct provider *p, char out[SANDBOX_WARNING_SIZE])
{
	const time_t at_s = evictions_deadline_s(runloop_of(p)->evictions);
	struct tm at;
	char text[40];

	if (at_s && gmtime_r(&at_s, &at) && strftime(text, sizeof text, "%FT%TZ", &at))
		snprintf(out, SANDBOX_WARNING_SIZE,
			"the service needs the machine and will suspend the devbox at %s; what is "
			"changed is sent at once until then, and the rest when it is resumed",
			text);
}

static enum err runloop_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	enum err kind = attachment_info(p, call, out, e);

	if (!kind)
		runloop_warning(p, out->warning);
	return kind;
}

static enum err runloop_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account api = { 0 };
	struct rest_listing listing = { sink, context };
	enum err kind = devbox_api_open(&api, cfg, e);

	return kind ? kind : devbox_list(&api.rest, call, rest_list_pass, &listing, e);
}

/* ---- The end of a devbox ---- */

/* The service's answer for a devbox that has ended already is not known, so its state is read. */
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

static enum err runloop_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct runloop *b = NULL;
	enum err kind = runloop_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = runloop_resolve(b, call, e);
	if (kind == ERR_NOT_FOUND)
		return ERR_OK;
	return kind ? kind : delete_one(&b->api.rest, call, b->at.id, e);
}

/* ERR_INVALID is also the answer for a devbox that is suspended already. */
static enum err suspend(struct runloop *b, const struct call *call, struct error *e)
{
	struct error why = { 0 };
	struct attachment_view view;
	enum err kind = devbox_act(&b->api.rest, call, b->at.id, "suspend", &why);

	if (kind == ERR_INVALID && !attachment_look(&b->at, call, &view, NULL) &&
		view.life == ATTACHMENT_RESTS)
		return ERR_OK;
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err runloop_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct runloop *b = runloop_of(p);
	struct devbox d;
	enum err kind = attachment_check(&b->at, e);

	if (!kind)
		kind = suspend(b, call, e);
	if (!kind)
		kind = devbox_wait(&b->api.rest, call, b->at.id, DEVBOX_SUSPENDED, &d, e);
	return kind;
}

/* The service extends by the time that the devbox was made with, since it takes no number. */
static enum err runloop_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct runloop *b = runloop_of(p);
	int64_t asked_ms = monotonic_ms();
	enum err kind = attachment_check(&b->at, e);

	(void)seconds;
	if (!kind)
		kind = devbox_act(&b->api.rest, call, b->at.id, "keep_alive", e);
	if (kind)
		return kind;
	pthread_mutex_lock(&b->at.lock);
	b->kept_ms = asked_ms;
	b->at.has_found = false; /* the devbox has more time than was seen */
	pthread_mutex_unlock(&b->at.lock);
	return ERR_OK;
}

static enum err runloop_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	static const struct rest_log log = { .lines = "logs",
		.time = "timestamp_ms",
		.kind = "source",
		.text = "message",
		.other_text = "cmd" };
	struct runloop *b = runloop_of(p);
	struct devbox_request q;
	enum err kind =
		devbox_request_make(&q, HTTP_GET, b->at.id, "reading the log", e, "%s", "/logs");

	q.ask.flags |= HTTP_REPEATABLE;
	return kind ? kind : rest_logs(&b->api.rest, call, &q.ask, &log, sink, context, e);
}

/* ---- A port ---- */

static enum err runloop_url(struct provider *p, const struct call *call, unsigned port,
	struct buf *out, struct error *e)
{
	struct runloop *b = runloop_of(p);
	struct attachment_view view;
	struct devbox d;
	enum err kind = attachment_look(&b->at, call, &view, e);

	runloop_seen(b, &d);
	if (!kind && !*d.tunnel)
		kind = devbox_open_tunnel(&b->api.rest, call, b->at.id, d.tunnel, e);
	if (!kind)
		devbox_port_url(out, &b->api.rest, d.tunnel, port);
	return kind;
}

const struct provider_ops runloop_provider = {
	.name = "runloop",
	.title = "Runloop",
	.key_names = "RUNLOOP_API_KEY",
	.caps = PROVIDER_TAKES_HEADERS | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,
	.create_options = OPTION_TEMPLATE | OPTION_IMAGE | OPTION_ENV | OPTION_LABELS |
		OPTION_NAME | OPTION_CPUS | OPTION_MEMORY | OPTION_DISK | OPTION_IDLE |
		OPTION_LIFETIME,
	.connect_options = OPTION_LIFETIME | OPTION_RESUME_NEVER,
	.create = runloop_create,
	.connect = runloop_connect,
	.release = runloop_release,
	.info = runloop_info,
	.warning = runloop_warning,
	.list_sandboxes = runloop_list_sandboxes,
	.delete = runloop_delete,
	.pause = runloop_pause,
	.resume = attachment_resume,
	.extend = runloop_extend,
	.snapshot = runloop_snapshot,
	.list_snapshots = runloop_list_snapshots,
	.delete_snapshot = runloop_delete_snapshot,
	.logs = runloop_logs,
	.url = runloop_url,
	.execute = attachment_execute,
	.watch = attachment_watch,
};
