#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/daytona/daytona.h"

#include <string.h>

/*
 * The time that a daemon is waited for. The control plane shows a running sandbox some seconds
 * before the proxy knows the way to it; six were seen.
 */
#define ROUTE_MS 30000

/* ---- The control plane ---- */

static void remember(struct daytona *d, const struct daytona_sandbox *sandbox)
{
	struct sandbox_info found;

	pthread_mutex_lock(&d->at.lock);
	d->seen = *sandbox;
	d->seen_ms = monotonic_ms();
	pthread_mutex_unlock(&d->at.lock);
	daytona_describe(sandbox, &found);
	attachment_remember(&d->at, &found);
}

enum err daytona_see(
	struct daytona *d, const struct call *call, struct daytona_sandbox *out, struct error *e)
{
	enum err kind = attachment_check(&d->at, e);

	if (!kind)
		kind = attachment_note(
			&d->at, daytona_look(&d->account.rest, call, d->at.id, out, e), e);
	if (!kind)
		remember(d, out);
	return kind;
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
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (!kind)
		take_id(d, &sandbox);
	return kind;
}

/* The proxy takes the ID alone, so the ID replaces a name first. */
static enum err adopt(struct daytona *d, const struct call *call,
	const struct daytona_sandbox *sandbox, struct error *e)
{
	enum err kind;

	if (d->toolbox.base_url)
		return ERR_OK;
	kind = check_user(d, sandbox, e);
	if (kind)
		return kind;
	take_id(d, sandbox);
	/* The sandbox's own user, asked for or not. */
	free(take(d->at.user));
	return address(d, call, sandbox, e);
}

/* ---- Starting the sandbox ---- */

static enum err start_if_allowed(struct daytona *d, const struct call *call,
	const struct daytona_sandbox *sandbox, struct error *e)
{
	struct error why = { 0 };
	enum err kind = attachment_may_wake(&d->at, call, sandbox->state, "start", "starts", e);

	if (kind)
		return kind;
	kind = attachment_note(
		&d->at, daytona_act(&d->account.rest, call, d->at.id, DAYTONA_START, &why), &why);
	/* ERR_BUSY: the sandbox's state is changing, and the next look shows the new one. */
	if (kind && kind != ERR_BUSY)
		return error_set(e, kind, "%s", why.text);
	if (!kind)
		log_info(
			LOG_PROVIDER, "daytona:%s was %s and is started", d->at.id, sandbox->state);
	return ERR_OK;
}

struct finding {
	struct daytona *d;
	struct daytona_sandbox sandbox;
};

static enum err say_broken(
	const struct daytona *d, const struct daytona_sandbox *sandbox, struct error *e)
{
	struct sandbox_info info;

	daytona_describe(sandbox, &info);
	return error_set(e, ERR_UNREACHABLE, "sandbox daytona:%s is in the state '%s': %s",
		d->at.id, sandbox->state, info.warning);
}

static enum err look_until_it_runs(
	void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct finding *f = context;
	enum err kind = daytona_see(f->d, call, &f->sandbox, e);

	if (kind)
		return kind;
	*is_done = f->sandbox.life == DAYTONA_RUNS;
	if (f->sandbox.life == DAYTONA_BROKEN || f->sandbox.life == DAYTONA_FAILED)
		return say_broken(f->d, &f->sandbox, e);
	if (f->sandbox.life == DAYTONA_RESTS)
		return start_if_allowed(f->d, call, &f->sandbox, e);
	return ERR_OK;
}

enum err daytona_find(struct daytona *d, const struct call *call, struct error *e)
{
	struct finding f = { .d = d };
	struct error why = { 0 };
	enum err kind = rest_wait(call, call_ready_ms(call), "waiting for the sandbox to run",
		look_until_it_runs, &f, &why);

	if (kind == ERR_TIMEOUT && f.sandbox.life == DAYTONA_CHANGES)
		return error_set(e, kind, "%.300s: its state is '%s'", why.text, f.sandbox.state);
	return kind ? error_set(e, kind, "%s", why.text) : adopt(d, call, &f.sandbox, e);
}

/* ---- Every verb's way to the daemon ---- */

struct reaching {
	struct daytona *d;
	daytona_step step;
	void *context;
	bool has_answered; /* the last step reached the daemon */
};

static enum err step_again(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct reaching *r = context;
	struct error why = { 0 };
	enum err kind = r->step(r->d, call, r->context, &why);

	/* ERR_GONE: the proxy has no route to the daemon yet. */
	*is_done = r->has_answered = kind != ERR_GONE;
	return *is_done && kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* Does the step again, after the control plane reported that the sandbox runs. */
static enum err reach_again(
	struct reaching *r, const struct call *call, const struct error *before, struct error *e)
{
	struct error why = { 0 };
	enum err kind;

	if (before->kind == ERR_AUTH)
		return error_set(e, ERR_AUTH, "%s", before->text);
	kind = rest_wait(call, ROUTE_MS, "reaching the sandbox's daemon", step_again, r, &why);
	if (kind == ERR_TIMEOUT && !r->has_answered)
		return error_set(e, ERR_UNREACHABLE,
			"sandbox daytona:%s runs, but its daemon cannot be reached: %.200s",
			r->d->at.id, before->text);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err daytona_reach(struct daytona *d, const struct call *call, bool may_repeat,
	daytona_step step, void *context, struct error *e)
{
	struct reaching r = { .d = d, .step = step, .context = context };
	struct error why = { 0 };
	enum err kind = attachment_check(&d->at, e);

	if (kind)
		return kind;
	why.kind = step(d, call, context, &why);
	if (!why.kind)
		return ERR_OK;
	if (why.kind != ERR_GONE && why.kind != ERR_AUTH &&
		!(may_repeat && why.kind == ERR_UNREACHABLE))
		return error_set(e, why.kind, "%s", why.text);
	kind = daytona_find(d, call, e);
	return kind ? kind : reach_again(&r, call, &why, e);
}

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
	d->at.base.foreign = http_foreign(d->account.http);
	*out = take(d);
	return ERR_OK;
}
