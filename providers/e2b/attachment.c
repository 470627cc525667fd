#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/e2b/e2b.h"
#include "providers/key.h"

#include <stdio.h>
#include <string.h>

/*
 * The daemon with its last address. A call that uses the daemon holds a reference, since a wake may
 * change the address.
 */
struct daemon {
	struct envd *envd;
	char *base_url, *token;
	unsigned features;   /* enum envd_feature */
	unsigned references; /* e2b.lock */
};

/* ---- The daemon's address ---- */

static void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	envd_free(d->envd);
	free(d->base_url);
	key_free(d->token);
	free(d);
}

/* Owns the URL from then on. */
static enum err daemon_new(struct daemon **out, const struct e2b *b, char *base_url,
	const char *token, unsigned features, struct error *e)
{
	struct envd_address address = { .base_url = base_url,
		.sandbox_id = b->at.id,
		.token = *token ? token : NULL,
		.user = b->at.user,
		.features = features };
	struct daemon *d = calloc(1, sizeof *d);
	enum err kind;

	if (!d) {
		free(base_url);
		return error_set(e, ERR_NO_MEMORY, "e2b");
	}
	*d = (struct daemon){
		.base_url = base_url, .token = strdup(token), .features = features, .references = 1
	};
	kind = d->token ? envd_new(&d->envd, b->account.http, &address, e)
			: error_set(e, ERR_NO_MEMORY, "e2b");
	if (kind)
		daemon_free(d);
	else
		*out = d;
	return kind;
}

static struct daemon *daemon_get(struct e2b *b)
{
	struct daemon *d;

	pthread_mutex_lock(&b->at.lock);
	d = b->daemon;
	d->references++;
	pthread_mutex_unlock(&b->at.lock);
	return d;
}

static void daemon_put(struct e2b *b, struct daemon *d)
{
	bool is_last;

	pthread_mutex_lock(&b->at.lock);
	is_last = --d->references == 0;
	pthread_mutex_unlock(&b->at.lock);
	if (is_last)
		daemon_free(d);
}

/* The daemon that was there before is freed with its last reference. */
static void daemon_replace(struct e2b *b, struct daemon *d)
{
	struct daemon *before;

	pthread_mutex_lock(&b->at.lock);
	before = b->daemon;
	b->daemon = d;
	pthread_mutex_unlock(&b->at.lock);
	if (before)
		daemon_put(b, before);
}

static bool is_addressed(struct e2b *b, const char *base_url, const char *token, unsigned features)
{
	bool is_same;

	pthread_mutex_lock(&b->at.lock);
	is_same = b->daemon && !strcmp(b->daemon->base_url, base_url) &&
		!strcmp(b->daemon->token, token) && b->daemon->features == features;
	pthread_mutex_unlock(&b->at.lock);
	return is_same;
}

enum err e2b_adopt(struct e2b *b, const struct plane_sandbox *sandbox, struct error *e)
{
	unsigned features = envd_features(sandbox->envd_version);
	AUTO_FREE char *base_url = NULL;
	struct daemon *d = NULL;
	enum err kind;

	if (envd_is_too_old(sandbox->envd_version))
		return error_set(e, ERR_UNSUPPORTED,
			"e2b:%s: its daemon is of version %s, and 0.1.0 is the oldest that works; "
			"make a sandbox from a template that was built since",
			b->at.id, sandbox->envd_version);
	kind = e2b_envd_url(&base_url, &b->account.settings, b->at.id, sandbox->domain, e);
	if (kind || is_addressed(b, base_url, sandbox->token, features))
		return kind;
	kind = daemon_new(&d, b, take(base_url), sandbox->token, features, e);
	if (!kind)
		daemon_replace(b, d);
	return kind;
}

/* ---- The control plane ---- */

enum err e2b_look(
	struct e2b *b, const struct call *call, struct plane_sandbox *out, struct error *e)
{
	enum err kind = attachment_check(&b->at, e);

	*out = (struct plane_sandbox){ .state = SANDBOX_RUNNING, .ends_s = -1 };
	if (kind || !b->account.plane)
		return kind;
	return attachment_note(&b->at, plane_info(b->account.plane, call, b->at.id, out, e), e);
}

enum err e2b_wake(struct e2b *b, const struct call *call, struct error *e)
{
	struct plane_sandbox sandbox;
	enum err kind = attachment_check(&b->at, e);

	if (kind || !b->account.plane)
		return kind;
	kind = plane_wake(b->account.plane, call, b->at.id, b->lifetime_s, &sandbox, e);
	if (kind)
		return attachment_note(&b->at, kind, e);
	/* Connections from before the pause are dead, and only their silence would show it. */
	http_drop_connections(b->account.http);
	log_info(LOG_PROVIDER, "e2b:%s was paused and is awake", b->at.id);
	return e2b_adopt(b, &sandbox, e);
}

static enum err wake_if_allowed(struct e2b *b, const struct call *call, struct error *e)
{
	enum err kind = attachment_may_wake(&b->at, call, "paused", "wake", "wakes", e);

	return kind ? kind : e2b_wake(b, call, e);
}

enum err e2b_name(struct e2b *b, const char *id, struct error *e)
{
	if (!id)
		return error_set(e, ERR_INVALID, "e2b: no sandbox ID given");
	return e2b_sandbox_id(b->at.id, PLANE_ID_MAX, &b->account.settings, id, e);
}

/*
 * Connects to the daemon's usual address while the control plane answers, which saves a round trip.
 * The control plane may still name another address.
 */
static void preconnect(struct e2b *b)
{
	AUTO_FREE char *base_url = NULL;

	if (!b->daemon && !e2b_envd_url(&base_url, &b->account.settings, b->at.id, "", NULL))
		http_preconnect(b->account.http, base_url);
}

enum err e2b_find(struct e2b *b, const struct call *call, struct error *e)
{
	struct plane_sandbox sandbox;

	preconnect(b);
	enum err kind = e2b_look(b, call, &sandbox, e);

	if (kind)
		return kind;
	if (sandbox.state == SANDBOX_PAUSED)
		return wake_if_allowed(b, call, e);
	attachment_remember(&b->at,
		&(struct sandbox_info){ .state = sandbox.state, .expires_s = sandbox.ends_s });
	return e2b_adopt(b, &sandbox, e);
}

/* ---- Every verb's way to the daemon ---- */

/* Whether the control plane may explain the failure of a step that was not done. */
static bool is_worth_asking(const struct e2b *b, enum err kind, bool is_done)
{
	return b->account.plane && !is_done && (kind == ERR_GONE || kind == ERR_AUTH);
}

/* The control plane gave the same token once more, so the daemon's refusal stands. */
static enum err say_refused(const struct e2b *b, struct error *failure)
{
	const struct error said = *failure;

	return error_set(failure, ERR_AUTH, "e2b:%s: %.250s%s", b->at.id, said.text,
		b->at.user ? "; does the sandbox have the user that was asked for?" : "");
}

/* Asks the control plane, and does the step again, unless the same token would be refused again. */
static enum err reach_again(struct e2b *b, const struct call *call, const struct daemon *before,
	e2b_step step, void *context, struct error *failure)
{
	enum err asked_for = failure->kind;
	struct daemon *d;
	bool is_done = false;
	enum err kind = e2b_find(b, call, failure);

	if (kind)
		return kind;
	d = daemon_get(b);
	if (asked_for == ERR_AUTH && d == before)
		kind = say_refused(b, failure);
	else
		kind = step(d->envd, call, context, &is_done, failure);
	daemon_put(b, d);
	if (kind == ERR_GONE)
		return error_set(failure, ERR_UNREACHABLE,
			"sandbox e2b:%s runs, but its daemon cannot be reached", b->at.id);
	return kind;
}

enum err e2b_reach(
	struct e2b *b, const struct call *call, e2b_step step, void *context, struct error *e)
{
	struct error why = { 0 };
	bool is_done = false;
	struct daemon *d;
	enum err kind = attachment_check(&b->at, e);

	if (kind)
		return kind;
	d = daemon_get(b);
	kind = step(d->envd, call, context, &is_done, &why);
	why.kind = kind;
	if (is_worth_asking(b, kind, is_done))
		kind = reach_again(b, call, d, step, context, &why);
	daemon_put(b, d);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- Making and freeing ---- */

void e2b_release(struct provider *p)
{
	struct e2b *b = e2b_of(p);

	attachment_detach(&b->at);
	if (b->daemon)
		daemon_put(b, b->daemon);
	account_close(&b->account);
	attachment_free(&b->at);
}

enum err e2b_new(struct e2b **out, const struct provider_config *cfg, struct error *e)
{
	AUTO_ATTACHMENT struct e2b *b = attachment_new(sizeof *b, &e2b_provider, cfg, e);
	enum err kind = b ? account_open(&b->account, cfg, e) : ERR_NO_MEMORY;

	if (kind)
		return kind;
	b->at.base.foreign = http_foreign(b->account.http);
	b->lifetime_s = cfg->lifetime_s;
	*out = take(b);
	return ERR_OK;
}
