#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/daytona/daytona.h"

#include <stdio.h>
#include <string.h>

/* Whoever asked for a sandbox may have given up; to delete it has a time of its own. */
#define DISCARD_MS 10000

/* ---- What a change of state waits for ---- */

struct transition {
	const struct daytona_account *account;
	const char *id;
	enum err (*ask)(const struct daytona_account *a, const struct call *call, const char *id,
		struct error *e);
};

/* Refused while another change is going on. */
static enum err try_change(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct transition *t = context;
	struct error why = { 0 };
	enum err kind = t->ask(t->account, call, t->id, &why);

	*is_done = kind != ERR_BUSY;
	return *is_done && kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err change(
	struct transition t, const struct call *call, const char *what, struct error *e)
{
	return rest_wait(call, REST_READY_MS, what, try_change, &t, e);
}

/* ---- A new one ---- */

static enum err ping_step(
	struct daytona *d, const struct call *call, void *context, struct error *e)
{
	(void)context;
	return toolbox_ping(&d->toolbox, call, e);
}

static void discard(const struct daytona_account *a, const char *id)
{
	const struct call call = { .progress_ms = DISCARD_MS };
	const struct transition removal = { a, id, daytona_remove };
	struct error e = { 0 };

	if (change(removal, &call, "deleting the sandbox", &e))
		log_error(LOG_PROVIDER,
			"daytona:%s was made, is of no use and could not be deleted: %s", id,
			e.text);
}

static enum err wait_until_ready(struct daytona *d, const struct call *call, struct error *e)
{
	enum err kind = daytona_find(d, call, e);

	return kind ? kind : daytona_reach(d, call, true, ping_step, NULL, e);
}

static enum err make(struct daytona_sandbox *out, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	AUTO_DAYTONA_ACCOUNT struct daytona_account account = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	if (kind)
		return kind;
	kind = daytona_make(&account, call, cfg, out, e);
	if (kind && *out->id)
		discard(&account, out->id);
	return kind;
}

enum err daytona_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct daytona_sandbox made;
	struct daytona *d;
	enum err kind = make(&made, cfg, call, e);

	if (!kind)
		kind = daytona_new(&d, cfg, made.id, e);
	if (kind)
		return kind;
	kind = wait_until_ready(d, call, e);
	if (kind)
		discard(&d->account, d->id);
	else
		snprintf(id, 128, "%s", d->id);
	daytona_free(d);
	return kind;
}

/* ---- All, and one by its name ---- */

enum err daytona_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_DAYTONA_ACCOUNT struct daytona_account account = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	return kind ? kind : daytona_list(&account, call, sink, context, e);
}

enum err daytona_delete(const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct daytona *d;
	enum err kind = daytona_new(&d, cfg, cfg->id, e);

	if (kind)
		return kind;
	kind = change((struct transition){ &d->account, d->id, daytona_remove }, call,
		"deleting the sandbox", e);
	daytona_free(d);
	return kind;
}

/* ---- One that is attached ---- */

/* What connecting told is told once: a mount asks right behind it. */
static bool recall(struct daytona *d, struct sandbox_info *out)
{
	bool has_found;

	pthread_mutex_lock(&d->lock);
	has_found = d->has_found;
	out->state = d->found_state;
	out->expires_s = d->found_expires_s;
	d->has_found = false;
	pthread_mutex_unlock(&d->lock);
	return has_found;
}

enum err daytona_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct sandbox_info info = { 0 };

	if (!recall(d, &info)) {
		struct daytona_sandbox sandbox;
		enum err kind = daytona_see(d, call, &sandbox, e);

		if (kind)
			return kind;
		info.state = daytona_state_of(&sandbox);
		info.expires_s = sandbox.expires_s;
	}
	snprintf(info.id, sizeof info.id, "%s", d->id);
	remote_describe(&d->remote, &info);
	*out = info;
	return ERR_OK;
}

/* ---- Pause: it is stopped, and its files are kept ---- */

static enum err look_until_it_rests(
	void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct daytona *d = context;
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (kind)
		return kind;
	*is_done = sandbox.life == DAYTONA_RESTS;
	if (sandbox.life == DAYTONA_FAILED)
		return error_set(
			e, ERR_IO, "sandbox daytona:%s did not stop: %s", d->id, sandbox.why);
	return ERR_OK;
}

static enum err stop(struct daytona *d, const struct call *call, struct error *e)
{
	const struct transition stopping = { &d->account, d->id, daytona_stop };
	enum err kind = daytona_note(d, change(stopping, call, "stopping the sandbox", e), e);

	return kind ? kind
		    : rest_wait(call, REST_READY_MS, "waiting for the sandbox to stop",
			      look_until_it_rests, d, e);
}

enum err daytona_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (kind || sandbox.life == DAYTONA_RESTS)
		return kind;
	if (sandbox.is_ephemeral)
		return error_set(e, ERR_UNSUPPORTED,
			"daytona:%s is ephemeral: to stop it deletes it", d->id);
	return stop(d, call, e);
}

enum err daytona_resume(struct provider *p, const struct call *call, struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct daytona_sandbox sandbox;
	const struct transition starting = { &d->account, d->id, daytona_start };
	enum err kind = daytona_see(d, call, &sandbox, e);

	if (!kind && sandbox.life == DAYTONA_RESTS)
		kind = daytona_note(d, change(starting, call, "starting the sandbox", e), e);
	return kind ? kind : daytona_find(d, call, e);
}

/* ---- Extend: it stops when it was not used for so long ---- */

static int64_t autostop_s(struct daytona *d)
{
	int64_t seconds;

	pthread_mutex_lock(&d->lock);
	seconds = d->autostop_s;
	pthread_mutex_unlock(&d->lock);
	return seconds;
}

static void set_autostop(struct daytona *d, int64_t seconds)
{
	pthread_mutex_lock(&d->lock);
	d->autostop_s = seconds;
	pthread_mutex_unlock(&d->lock);
}

enum err daytona_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct daytona *d = daytona_of(p);
	int64_t now_s = autostop_s(d);
	enum err kind = daytona_check(d, e);

	if (kind || !now_s)
		return kind;
	if (seconds > now_s) {
		kind = daytona_note(
			d, daytona_set_autostop(&d->account, call, d->id, seconds, e), e);
		if (kind)
			return kind;
		set_autostop(d, seconds);
	}
	return daytona_note(d, daytona_touch(&d->account, call, d->id, e), e);
}

/* ---- A port ---- */

enum err daytona_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct daytona *d = daytona_of(p);
	enum err kind = daytona_check(d, e);

	return kind ? kind
		    : daytona_note(d, daytona_port_url(&d->account, call, d->id, port, out, e), e);
}
