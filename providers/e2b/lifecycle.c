#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/e2b/e2b.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* From its making until a sandbox answers. */
#define READY_MS 180000
/* One look at whether it does, and the pause before the next. */
#define LOOK_MS       10000
#define LOOK_PAUSE_MS 500

static enum err no_plane(struct error *e)
{
	return error_set(e, ERR_UNSUPPORTED, "e2b: E2B_DEBUG=true has no control plane");
}

/* ---- A new one ---- */

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
	int64_t end_ms = monotonic_ms() + READY_MS;
	struct error why = { 0 };
	enum err kind = e2b_reach(b, &look, look_step, NULL, &why);

	while (may_become_ready(kind) && monotonic_ms() < end_ms) {
		pause_between(call);
		kind = e2b_reach(b, &look, look_step, NULL, &why);
	}
	return kind
		? error_set(e, kind, "e2b:%s was made, but does not answer: %s", b->id, why.text)
		: ERR_OK;
}

/* Whoever asked for it may have given up, so this has a time of its own. */
static void discard(struct e2b *b)
{
	const struct call call = { .progress_ms = LOOK_MS };
	struct error e = { 0 };

	if (plane_kill(b->account.plane, &call, b->id, &e))
		log_error(LOG_PROVIDER,
			"e2b:%s was made, is of no use and could not be deleted: %s", b->id,
			e.text);
}

static enum err create_with(
	struct e2b *b, const struct provider_config *cfg, const struct call *call, struct error *e)
{
	/* At its end it is kept, not killed: who reads for six minutes shall not lose it. */
	const struct plane_new_sandbox wanted = {
		.template = cfg->template,
		.env = cfg->env,
		.labels = cfg->labels,
		.lifetime_s = cfg->lifetime_s,
		.pause_at_end = true,
		.block_network = cfg->block_network,
	};
	struct plane_sandbox made;
	enum err kind;

	if (!b->account.plane)
		return e2b_name(b, E2B_DEBUG_ID, e);
	kind = plane_create(b->account.plane, call, &wanted, &made, e);
	memcpy(b->id, made.id, sizeof b->id);
	if (!kind)
		kind = e2b_adopt(b, &made, e);
	if (!kind)
		kind = wait_until_ready(b, call, e);
	if (kind && *b->id)
		discard(b);
	return kind;
}

enum err e2b_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct e2b *b;
	enum err kind = e2b_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = create_with(b, cfg, call, e);
	if (!kind)
		snprintf(id, 128, "%s", b->id);
	e2b_free(b);
	return kind;
}

/* ---- All, and one by its name ---- */

enum err e2b_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_ACCOUNT struct account account = { 0 };
	enum err kind = account_open(&account, cfg, e);

	if (kind)
		return kind;
	if (!account.plane)
		return no_plane(e);
	return plane_list(account.plane, call, sink, context, e);
}

enum err e2b_delete(const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct e2b *b;
	enum err kind = e2b_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = e2b_name(b, cfg->id, e);
	if (!kind)
		kind = b->account.plane ? plane_kill(b->account.plane, call, b->id, e)
					: no_plane(e);
	e2b_free(b);
	return kind;
}

/* ---- One that is attached ---- */

/* What connecting told is told once: a mount asks right behind it. */
static bool recall(struct e2b *b, struct plane_sandbox *out)
{
	bool has_found;

	pthread_mutex_lock(&b->lock);
	has_found = b->has_found;
	*out = (struct plane_sandbox){ .state = b->found_state, .ends_s = b->found_ends_s };
	b->has_found = false;
	pthread_mutex_unlock(&b->lock);
	return has_found;
}

enum err e2b_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct e2b *b = e2b_of(p);
	struct plane_sandbox sandbox;
	enum err kind = recall(b, &sandbox) ? ERR_OK : e2b_look(b, call, &sandbox, e);

	if (kind)
		return kind;
	*out = (struct sandbox_info){ .state = sandbox.state, .expires_s = sandbox.ends_s };
	snprintf(out->id, sizeof out->id, "%s", b->id);
	remote_describe(&b->remote, out);
	return ERR_OK;
}

enum err e2b_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct e2b *b = e2b_of(p);
	enum err kind = e2b_check(b, e);

	if (kind)
		return kind;
	if (!b->account.plane)
		return no_plane(e);
	kind = e2b_note(b, plane_pause(b->account.plane, call, b->id, e), e);
	if (!kind)
		http_drop_connections(b->account.http);
	return kind;
}

enum err e2b_resume(struct provider *p, const struct call *call, struct error *e)
{
	return e2b_wake(e2b_of(p), call, e);
}

enum err e2b_extend(struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct e2b *b = e2b_of(p);
	enum err kind = e2b_check(b, e);

	if (kind || !b->account.plane)
		return kind;
	return e2b_note(b, plane_extend(b->account.plane, call, b->id, seconds, e), e);
}

enum err e2b_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct e2b *b = e2b_of(p);
	struct plane_sandbox sandbox;
	enum err kind = e2b_look(b, call, &sandbox, e);

	if (!kind)
		e2b_port_url(out, &b->account.settings, b->id, sandbox.domain, port);
	return kind;
}
