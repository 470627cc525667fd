#include "providers/base/cleanup.h"
#include "providers/e2b/e2b.h"
#include "providers/e2b/template.h"
#include "providers/variables.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time of one look at whether the daemon answers, and the pause before the next look. */
#define LOOK_MS       10000
#define LOOK_PAUSE_MS 500

static enum err no_plane(struct error *e)
{
	return error_set(e, ERR_UNSUPPORTED, "e2b: E2B_DEBUG=true has no control plane");
}

/* ---- A new sandbox ---- */

static enum err ignore_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

static enum err look_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	static const char *const argv[] = { "true", NULL };
	const struct envd_command command = { .argv = argv, .cwd = "/" };
	struct envd_outcome outcome;

	(void)context;
	*is_done = false;
	return envd_run(d, call, &command, NULL, ignore_output, NULL, &outcome, e);
}

static bool may_become_ready(enum err kind)
{
	return kind == ERR_GONE || kind == ERR_UNREACHABLE || kind == ERR_TIMEOUT ||
		kind == ERR_BUSY || kind == ERR_NOT_FOUND;
}

/* Returns early when the call is cancelled. */
static void pause_between(const struct call *call)
{
	struct pollfd p = { .fd = call && call->cancel ? call->cancel->fd : -1, .events = POLLIN };

	poll(&p, 1, LOOK_PAUSE_MS);
}

static enum err wait_until_ready(struct e2b *b, const struct call *call, struct error *e)
{
	const struct call look = { .progress_ms = LOOK_MS, .cancel = call ? call->cancel : NULL };
	int64_t end_ms = monotonic_ms() + call_ready_ms(call);
	struct error why = { 0 };
	enum err kind = e2b_reach(b, &look, look_step, NULL, &why);

	while (may_become_ready(kind) && monotonic_ms() < end_ms) {
		pause_between(call);
		kind = e2b_reach(b, &look, look_step, NULL, &why);
	}
	return kind
		? error_set(e, kind, "e2b:%s was made, but does not answer: %s", b->at.id, why.text)
		: ERR_OK;
}

static enum err read_lifetime(
	const struct provider_config *cfg, int64_t *lifetime_s, struct error *e)
{
	const char *text = variable("E2B_TIMEOUT");
	char *end;

	*lifetime_s = cfg->lifetime_s;
	if (*lifetime_s || !text)
		return ERR_OK;
	*lifetime_s = strtoll(text, &end, 10);
	if (*end || *lifetime_s <= 0)
		return error_set(e, ERR_INVALID,
			"e2b: E2B_TIMEOUT '%.60s': a number of seconds, as in 300", text);
	return ERR_OK;
}

static enum err create_with(
	struct e2b *b, const struct provider_config *cfg, const struct call *call, struct error *e)
{
	/* The sandbox is paused at its end, so a user who reads for six minutes keeps it. */
	struct plane_new_sandbox wanted = {
		.template = cfg->template,
		.env = cfg->env,
		.labels = cfg->labels,
		.pause_at_end = true,
		.block_network = cfg->block_network,
		.allowed = cfg->allowed,
	};
	struct plane_sandbox made;
	char template[TEMPLATE_ID_SIZE];
	enum err kind;

	if (!b->account.plane)
		return e2b_name(b, E2B_DEBUG_ID, e);
	kind = read_lifetime(cfg, &wanted.lifetime_s, e);
	if (!kind && cfg->image)
		kind = template_of_image(b->account.plane, call, cfg, template, e);
	if (kind)
		return kind;
	if (cfg->image)
		wanted.template = template;
	kind = plane_create(b->account.plane, call, &wanted, &made, e);
	memcpy(b->at.id, made.id, sizeof made.id);
	if (!kind)
		kind = e2b_adopt(b, &made, e);
	if (!kind)
		kind = wait_until_ready(b, call, e);
	if (kind)
		attachment_discard(&e2b_provider, cfg, b->at.id);
	return kind;
}

static enum err e2b_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct e2b *b = NULL;
	enum err kind = e2b_new(&b, cfg, e);

	if (!kind)
		kind = create_with(b, cfg, call, e);
	if (!kind)
		snprintf(id, 128, "%s", b->at.id);
	return kind;
}

/* ---- All sandboxes, and one by its name ---- */

static enum err e2b_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_ACCOUNT struct account account = { 0 };
	enum err kind = account_open(&account, cfg, e);

	if (kind)
		return kind;
	return account.plane ? plane_list(account.plane, call, sink, context, e) : no_plane(e);
}

static enum err e2b_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct e2b *b = NULL;
	enum err kind = e2b_new(&b, cfg, e);

	if (!kind)
		kind = e2b_name(b, cfg->id, e);
	if (kind)
		return kind;
	return b->account.plane ? plane_kill(b->account.plane, call, b->at.id, e) : no_plane(e);
}

/* ---- An attached sandbox ---- */

static enum err e2b_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_ATTACHMENT struct e2b *b = NULL;
	enum err kind = e2b_new(&b, cfg, e);

	if (!kind)
		kind = e2b_name(b, cfg->id, e);
	if (!kind && !cfg->account_only) {
		e2b_preconnect(b);
		kind = attachment_find(&b->at, call, e);
	}
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&b->at, &e2b_remote, cfg, NULL, call, e);
	if (!kind)
		*out = &take(b)->at.base;
	return kind;
}

static enum err e2b_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct e2b *b = e2b_of(p);
	enum err kind = attachment_check(&b->at, e);

	if (kind)
		return kind;
	if (!b->account.plane)
		return no_plane(e);
	kind = attachment_note(&b->at, plane_pause(b->account.plane, call, b->at.id, e), e);
	if (!kind)
		http_drop_connections(b->account.http);
	return kind;
}

static enum err e2b_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct e2b *b = e2b_of(p);
	enum err kind = attachment_check(&b->at, e);

	if (kind || !b->account.plane)
		return kind;
	return attachment_note(
		&b->at, plane_extend(b->account.plane, call, b->at.id, seconds, e), e);
}

/* ---- Copies ---- */

static enum err e2b_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct e2b *b = e2b_of(p);

	if (!b->account.plane)
		return no_plane(e);
	return plane_snapshot(b->account.plane, call, b->at.id, name, id, e);
}

static enum err e2b_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e)
{
	AUTO_ACCOUNT struct account account = { 0 };
	enum err kind = account_open(&account, cfg, e);

	if (kind)
		return kind;
	return account.plane ? plane_list_snapshots(account.plane, call, sink, context, e)
			     : no_plane(e);
}

static enum err e2b_delete_snapshot(
	const struct provider_config *cfg, const struct call *call, const char *id, struct error *e)
{
	AUTO_ACCOUNT struct account account = { 0 };
	enum err kind = account_open(&account, cfg, e);

	if (kind)
		return kind;
	return account.plane ? plane_delete_snapshot(account.plane, call, id, e) : no_plane(e);
}

static enum err e2b_fork(struct provider *p, const struct call *call, char id[128], struct error *e)
{
	struct e2b *b = e2b_of(p);
	struct plane_sandbox made = { 0 };
	enum err kind = b->account.plane ? plane_fork(b->account.plane, call, b->at.id, &made, e)
					 : no_plane(e);

	memcpy(id, made.id, sizeof made.id);
	return kind;
}

static enum err e2b_set_network(struct provider *p, const struct call *call, bool blocked,
	const char *const *allowed, struct error *e)
{
	struct e2b *b = e2b_of(p);

	if (!b->account.plane)
		return no_plane(e);
	return plane_set_network(b->account.plane, call, b->at.id, blocked, allowed, e);
}

static enum err e2b_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	struct e2b *b = e2b_of(p);

	if (!b->account.plane)
		return no_plane(e);
	return plane_logs(b->account.plane, call, b->at.id, sink, context, e);
}

/* The service gives a private port's token only where it wakes a sandbox, or finds it awake. */
static enum err put_header(struct e2b *b, const struct call *call, enum attachment_life life,
	struct buf *out, struct error *e)
{
	struct plane_sandbox woken;
	enum err kind;

	if (life != ATTACHMENT_RUNS)
		return error_set(e, ERR_UNREACHABLE,
			"e2b:%s: its ports are private, and their token is not told while it is "
			"paused; sandboxctl resume wakes it",
			b->at.id);
	kind = plane_wake(b->account.plane, call, b->at.id, b->lifetime_s, &woken, e);
	if (!kind)
		buf_printf(out, "\ne2b-traffic-access-token: %s", woken.traffic_token);
	explicit_bzero(&woken, sizeof woken);
	return kind;
}

static enum err e2b_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct e2b *b = e2b_of(p);
	struct attachment_view view;
	struct plane_sandbox seen;
	enum err kind = attachment_look(&b->at, call, &view, e);

	e2b_seen(b, &seen);
	if (!kind)
		kind = e2b_port_url(out, &b->account.settings, b->at.id, seen.domain, port, e);
	return kind || !seen.is_private ? kind : put_header(b, call, view.life, out, e);
}

/* The helper does list, fetch and apply: the daemon's own calls are slower and less exact. */
const struct provider_ops e2b_provider = {
	.name = "e2b",
	.title = "E2B",
	.key_names = "E2B_API_KEY",
	.login = &e2b_login,
	.caps = PROVIDER_TAKES_HEADERS | PROVIDER_COMMANDS_PULSE | PROVIDER_LOGIN_SHELL,
	.create_options = OPTION_TEMPLATE | OPTION_IMAGE | OPTION_ENV | OPTION_LABELS |
		OPTION_BLOCK_NETWORK | OPTION_ALLOW | OPTION_LIFETIME,
	.connect_options = OPTION_USER | OPTION_LIFETIME | OPTION_RESUME_NEVER,
	.create = e2b_create,
	.connect = e2b_connect,
	.release = e2b_release,
	.info = attachment_info,
	.list_sandboxes = e2b_list_sandboxes,
	.delete = e2b_delete,
	.pause = e2b_pause,
	.resume = e2b_resume,
	.extend = e2b_extend,
	.snapshot = e2b_snapshot,
	.list_snapshots = e2b_list_snapshots,
	.delete_snapshot = e2b_delete_snapshot,
	.fork = e2b_fork,
	.set_network = e2b_set_network,
	.logs = e2b_logs,
	.url = e2b_url,
	.execute = attachment_execute,
	.watch = attachment_watch,
};
