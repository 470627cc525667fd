#include "providers/base/cleanup.h"
#include "providers/daytona/daytona.h"

#include <stdio.h>
#include <string.h>

/*
 * The time that a daemon is waited for. The control plane shows a running sandbox some seconds
 * before the proxy knows the way to it; six were seen.
 */
#define ROUTE_MS 30000

/* ---- The control plane ---- */

static enum attachment_life life_of(const struct daytona_sandbox *sandbox)
{
	switch (sandbox->life) {
	case DAYTONA_RUNS: return ATTACHMENT_RUNS;
	case DAYTONA_RESTS: return ATTACHMENT_RESTS;
	case DAYTONA_CHANGES: return ATTACHMENT_CHANGES;
	case DAYTONA_ENDED: return ATTACHMENT_ENDED;
	case DAYTONA_BROKEN:
	case DAYTONA_FAILED: break;
	}
	return sandbox->is_recoverable ? ATTACHMENT_FAILED : ATTACHMENT_BROKEN;
}

static enum err look(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct daytona_sandbox sandbox;
	enum err kind = daytona_look(&daytona_of(&a->base)->account.rest, call, a->id, &sandbox, e);

	if (kind)
		return kind;
	pthread_mutex_lock(&a->lock);
	daytona_of(&a->base)->seen = sandbox;
	daytona_of(&a->base)->seen_ms = monotonic_ms();
	pthread_mutex_unlock(&a->lock);
	view->life = life_of(&sandbox);
	memcpy(view->state, sandbox.state, sizeof view->state);
	daytona_describe(&sandbox, &view->info);
	snprintf(view->why, sizeof view->why, "is in the state '%s': %s", sandbox.state,
		view->info.warning);
	return ERR_OK;
}

void daytona_seen(struct daytona *d, struct daytona_sandbox *out)
{
	int64_t seen_ago_s;

	pthread_mutex_lock(&d->at.lock);
	*out = d->seen;
	seen_ago_s = (monotonic_ms() - d->seen_ms) / 1000;
	pthread_mutex_unlock(&d->at.lock);
	if (out->destroyed_s >= 0)
		out->destroyed_s =
			out->destroyed_s > seen_ago_s ? out->destroyed_s - seen_ago_s : 0;
}

enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e)
{
	struct attachment_view view;
	enum err kind = attachment_look(&d->at, call, &view, e);

	daytona_seen(d, out);
	return kind;
}

static enum err wake(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	bool is_broken = view->info.state == SANDBOX_ERROR;

	return daytona_act(&daytona_of(&a->base)->account.rest, call, a->id,
		is_broken ? DAYTONA_RECOVER : DAYTONA_START, e);
}

/* ---- The daemon's address ---- */

static enum err address(struct daytona *d, const struct call *call,
	const struct daytona_sandbox *sandbox, struct error *e)
{
	AUTO_FREE char *url = NULL;
	enum err kind = daytona_toolbox_url(&d->account.rest, call, sandbox, &url, e);

	return kind ? kind
		    : rest_account_reach(
			      &d->account, url, toolbox_verdict, &toolbox_frame, &d->toolbox, e);
}

/* A sandbox's user is set when the sandbox is made, and does not change. */
static enum err check_user(
	const struct daytona *d, const struct daytona_sandbox *sandbox, struct error *e)
{
	if (!d->at.user || !strcmp(d->at.user, sandbox->user))
		return ERR_OK;
	return error_set(e, ERR_UNSUPPORTED,
		"daytona:%s was made for the user '%s', so '%s' cannot be had", d->at.id,
		sandbox->user, d->at.user);
}

/* The ID takes the place of a name. */
static void take_id(struct daytona *d, const struct daytona_sandbox *sandbox)
{
	memcpy(d->at.id, sandbox->id, sizeof d->at.id);
}

enum err daytona_know(struct daytona *d, const struct call *call, struct error *e)
{
	struct attachment_view view;
	enum err kind = attachment_look(&d->at, call, &view, e);

	if (kind)
		return kind;
	take_id(d, &d->seen);
	attachment_remember(&d->at, &view.info);
	return ERR_OK;
}

/* The proxy takes the ID alone, so the ID replaces a name first. */
static enum err adopt(struct attachment *a, const struct call *call, struct error *e)
{
	struct daytona *d = daytona_of(&a->base);
	struct daytona_sandbox sandbox;
	enum err kind;

	if (d->toolbox.base_url)
		return ERR_OK;
	daytona_seen(d, &sandbox);
	kind = check_user(d, &sandbox, e);
	if (kind)
		return kind;
	take_id(d, &sandbox);
	/* The sandbox's own user, asked for or not. */
	free(take(a->user));
	return address(d, call, &sandbox, e);
}

static const struct attachment_ops ops = {
	.look = look,
	.wake = wake,
	.adopt = adopt,
	.wake_word = "start",
	.wakes_word = "starts",
	.woken_word = "is started",
	.explained = { ERR_GONE, ERR_AUTH, ERR_UNREACHABLE },
	.route_ms = ROUTE_MS,
	.away = "runs, but its daemon cannot be reached",
};

/* ---- Making and freeing ---- */

void daytona_release(struct provider *p)
{
	struct daytona *d = daytona_of(p);

	attachment_detach(&d->at);
	rest_release(&d->toolbox);
	rest_account_close(&d->account);
	attachment_free(&d->at);
}

static enum err name(struct daytona *d, const char *id, struct error *e)
{
	if (!id || !*id)
		return error_set(e, ERR_INVALID, "daytona: no sandbox ID given");
	if (strlen(id) >= sizeof d->at.id)
		return error_set(e, ERR_INVALID, "daytona: '%.100s' is too long for a sandbox", id);
	strcpy(d->at.id, id);
	return ERR_OK;
}

enum err daytona_new(
	struct daytona **out, const struct provider_config *cfg, const char *id, struct error *e)
{
	AUTO_ATTACHMENT struct daytona *d = attachment_new(sizeof *d, &daytona_provider, cfg, e);
	enum err kind = d ? name(d, id, e) : ERR_NO_MEMORY;

	if (!kind)
		kind = daytona_account_open(&d->account, cfg, e);
	if (kind)
		return kind;
	d->at.ops = &ops;
	d->at.base.foreign = http_foreign(d->account.http);
	*out = take(d);
	return ERR_OK;
}
