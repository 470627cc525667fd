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
	atomic_fetch_add(&b->at.addresses, 1);
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
	unsigned features = envd_features(sandbox->envd_version) |
		(sandbox->auto_resumes ? ENVD_AUTO_RESUMES : 0);
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

/* The number of a question that begins now. */
static uint64_t begin_question(struct e2b *b)
{
	uint64_t number;

	pthread_mutex_lock(&b->at.lock);
	number = ++b->questions;
	pthread_mutex_unlock(&b->at.lock);
	return number;
}

/* The answer to a question that began earlier overwrites none to a later one. */
static void note_seen(struct e2b *b, uint64_t number, const struct plane_sandbox *sandbox)
{
	pthread_mutex_lock(&b->at.lock);
	if (number > b->answered) {
		b->answered = number;
		b->seen = *sandbox;
	}
	pthread_mutex_unlock(&b->at.lock);
}

static bool resumes_by_itself(struct e2b *b)
{
	bool auto_resumes;

	pthread_mutex_lock(&b->at.lock);
	auto_resumes = b->seen.auto_resumes;
	pthread_mutex_unlock(&b->at.lock);
	return auto_resumes;
}

static enum err look(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct e2b *b = e2b_of(&a->base);
	struct plane_sandbox sandbox = { .state = SANDBOX_RUNNING, .ends_s = -1 };
	uint64_t number = begin_question(b);
	enum err kind = ERR_OK;

	if (b->account.plane)
		kind = plane_info(b->account.plane, call, a->id, &sandbox, e);
	if (kind)
		return kind;
	note_seen(b, number, &sandbox);
	view->life = sandbox.state == SANDBOX_PAUSED ? ATTACHMENT_RESTS : ATTACHMENT_RUNS;
	view->info = (struct sandbox_info){ .state = sandbox.state, .expires_s = sandbox.ends_s };
	memcpy(view->info.volumes, sandbox.volumes, sizeof sandbox.volumes);
	snprintf(view->state, sizeof view->state, "paused");
	return ERR_OK;
}

static enum err wake(struct attachment *a, const struct call *call, struct attachment_view *view,
	struct error *e)
{
	struct e2b *b = e2b_of(&a->base);
	struct plane_sandbox sandbox;
	bool auto_resumes = resumes_by_itself(b);
	uint64_t number = begin_question(b);
	enum err kind = plane_wake(b->account.plane, call, a->id, b->lifetime_s, &sandbox, e);

	if (kind)
		return kind;
	sandbox.auto_resumes = auto_resumes;
	/* Connections from before the pause are dead, and only their silence would show it. */
	http_drop_connections(b->account.http);
	note_seen(b, number, &sandbox);
	view->life = ATTACHMENT_RUNS;
	return ERR_OK;
}

void e2b_seen(struct e2b *b, struct plane_sandbox *out)
{
	pthread_mutex_lock(&b->at.lock);
	*out = b->seen;
	pthread_mutex_unlock(&b->at.lock);
}

static enum err adopt(struct attachment *a, const struct call *call, struct error *e)
{
	struct plane_sandbox seen;

	(void)call;
	e2b_seen(e2b_of(&a->base), &seen);
	return e2b_adopt(e2b_of(&a->base), &seen, e);
}

static const struct attachment_ops ops = {
	.look = look,
	.wake = wake,
	.adopt = adopt,
	.wake_word = "wake",
	.wakes_word = "wakes",
	.woken_word = "is awake",
	.explained = { ERR_GONE, ERR_AUTH },
	.away = "runs, but its daemon cannot be reached",
};

/* The service answers the same way for a sandbox that runs, so the state is not asked for. */
enum err e2b_resume(struct provider *p, const struct call *call, struct error *e)
{
	struct attachment *a = &e2b_of(p)->at;
	struct attachment_view view;
	enum err kind = attachment_check(a, e);

	if (kind || !e2b_of(&a->base)->account.plane)
		return kind;
	kind = attachment_note(a, wake(a, call, &view, e), e);
	if (kind)
		return kind;
	log_info(LOG_PROVIDER, "e2b:%s was paused and is awake", a->id);
	return adopt(a, call, e);
}

enum err e2b_name(struct e2b *b, const char *id, struct error *e)
{
	if (!id)
		return error_set(e, ERR_INVALID, "e2b: no sandbox ID given");
	return e2b_sandbox_id(b->at.id, PLANE_ID_MAX, &b->account.settings, id, e);
}

/* The control plane may still name another address than this. */
void e2b_preconnect(struct e2b *b)
{
	AUTO_FREE char *base_url = NULL;

	if (!e2b_envd_url(&base_url, &b->account.settings, b->at.id, "", NULL))
		http_preconnect(b->account.http, base_url);
}

/* ---- Every verb's way to the daemon ---- */

struct passage {
	e2b_step step;
	void *context;
};

static enum err say_refused(const struct e2b *b, struct error *e)
{
	const struct error said = *e;

	return error_set(e, ERR_AUTH, "e2b:%s: %.250s%s", b->at.id, said.text,
		b->at.user ? "; does the sandbox have the user that was asked for?" : "");
}

/* Where any request wakes the sandbox, a call that must not wake it asks for the state before. */
static enum err check_awake(struct e2b *b, const struct call *call, struct error *e)
{
	bool must_not_wake = b->at.resume == RESUME_NEVER || (call && call->is_background);
	struct attachment_view view;
	enum err kind;

	if (!must_not_wake || !resumes_by_itself(b))
		return ERR_OK;
	kind = attachment_look(&b->at, call, &view, e);
	if (kind || view.life == ATTACHMENT_RUNS)
		return kind;
	return error_set(e, ERR_GONE, "e2b:%s is paused", b->at.id);
}

static enum err daemon_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	const struct passage *p = context;
	struct e2b *b = e2b_of(&a->base);
	struct daemon *d;
	enum err kind = check_awake(b, call, e);

	*is_done = false;
	if (kind)
		return kind;
	d = daemon_get(b);
	kind = p->step(d->envd, call, p->context, is_done, e);
	daemon_put(b, d);
	if (!b->account.plane)
		*is_done = true; /* no service can say why the daemon does not answer */
	else if (kind == ERR_AUTH)
		kind = say_refused(b, e);
	return kind;
}

enum err e2b_reach(
	struct e2b *b, const struct call *call, e2b_step step, void *context, struct error *e)
{
	struct passage passage = { step, context };

	return attachment_reach(&b->at, call, daemon_step, &passage, e);
}

/* ---- Making and freeing ---- */

void e2b_release(struct provider *p)
{
	struct e2b *b = e2b_of(p);

	attachment_detach(&b->at);
	if (b->daemon)
		daemon_put(b, b->daemon);
	account_close(&b->account);
	explicit_bzero(&b->seen, sizeof b->seen);
	attachment_free(&b->at);
}

enum err e2b_new(struct e2b **out, const struct provider_config *cfg, struct error *e)
{
	AUTO_ATTACHMENT struct e2b *b = attachment_new(sizeof *b, &e2b_provider, cfg, e);
	enum err kind = b ? account_open(&b->account, cfg, e) : ERR_NO_MEMORY;

	if (kind)
		return kind;
	b->at.ops = &ops;
	b->at.base.foreign = http_foreign(b->account.http);
	b->lifetime_s = cfg->lifetime_s;
	*out = take(b);
	return ERR_OK;
}
