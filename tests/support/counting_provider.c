#include "tests/support/counting_provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 60

/* One list on its way to its asker. */
struct passing {
	struct counting_provider *provider;
	const struct call *call;
	list_sink sink;
	void *context;
	unsigned entries;
	bool is_cut;
};

static struct timespec deadline(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	return end;
}

static void wait_locked(struct counting_provider *p, int64_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += ms * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&p->changed, &p->lock, &end);
}

/* A cancelled call gives up. */
static enum err stand_at_gate(
	struct counting_provider *p, const struct call *call, const char *path, struct error *e)
{
	enum err kind = ERR_OK;

	pthread_mutex_lock(&p->lock);
	if (p->gate && !strcmp(p->gate, path)) {
		p->held++;
		pthread_cond_broadcast(&p->changed);
	}
	while (!kind && p->gate && !strcmp(p->gate, path)) {
		wait_locked(p, 10);
		if (call && call->cancel && cancel_thrown(call->cancel))
			kind = error_set(e, ERR_INTERRUPTED, "interrupted");
	}
	p->cancelled += kind == ERR_INTERRUPTED;
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* Whether the list ends here: once for each time that a test sets `cut_after`. */
static bool is_cut_here(struct passing *pass)
{
	unsigned after = pass->provider->cut_after;

	pass->is_cut = after && pass->entries == after;
	if (pass->is_cut)
		pass->provider->cut_after = 0;
	return pass->is_cut;
}

static void tell_closed(const struct passing *pass)
{
	const struct list_item dir = { .kind = LIST_DIR, .path = pass->provider->closed };
	const struct list_item end = { .kind = LIST_DIR_END, .err = ERR_DENIED };

	pass->sink(pass->context, &dir, NULL);
	pass->sink(pass->context, &end, NULL);
}

static enum err pass_on(void *context, const struct list_item *item, struct error *e)
{
	struct passing *pass = context;
	struct counting_provider *p = pass->provider;
	enum err kind = ERR_OK;

	if (is_cut_here(pass))
		return error_set(e, ERR_IO, "cut");
	if (item->kind == LIST_DIR)
		kind = stand_at_gate(p, pass->call, item->path, e);

	p->entries += item->kind == LIST_ENTRY;
	pass->entries += item->kind == LIST_ENTRY;
	struct list_item copy = *item;

	if (item->kind == LIST_END && p->closed)
		tell_closed(pass);
	if (item->kind == LIST_END)
		copy.now.tv_sec -= p->behind_s;
	return kind ? kind : pass->sink(pass->context, &copy, e);
}

static enum err check_awake(struct counting_provider *p, const struct call *call, struct error *e)
{
	if (!p->is_paused)
		return ERR_OK;
	if (call && call->is_background) {
		p->refusals++;
		return error_set(e, ERR_GONE, "paused, and wakes when somebody uses it");
	}
	/* Only one of several calls at once finds the sandbox paused. */
	p->wakes += atomic_exchange(&p->is_paused, false);
	return ERR_OK;
}

static enum err list(struct provider *base, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	struct counting_provider *p = (struct counting_provider *)base;
	struct passing pass = { .provider = p, .call = call, .sink = sink, .context = context };
	enum err kind = check_awake(p, call, e);

	if (kind)
		return kind;
	p->lists++;
	p->since_ns = request->changed_since_ns;
	if (p->fails_with)
		return error_set(e, p->fails_with, "as the test wants it");
	kind = helper_list(&p->shown->root, request, pass_on, &pass, e);

	if (!pass.is_cut)
		return kind;
	return p->cut_with ? error_set(e, p->cut_with, "cut") : ERR_OK;
}

static enum err apply(struct provider *base, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct counting_provider *p = (struct counting_provider *)base;
	bool is_cut = atomic_exchange(&p->pauses_at_apply, false);

	if (is_cut)
		p->is_paused = true;
	enum err kind = is_cut ? error_set(e, ERR_UNREACHABLE, "cut off") : check_awake(p, call, e);

	if (kind)
		return kind;
	p->applies++;
	return helper_apply(&p->shown->root, NULL, request, results, e);
}

/* One stream of changes on its way. */
struct watching {
	struct counting_provider *provider;
	const struct call *call;
	watch_sink sink;
	void *context;
};

static enum err hold_ready(const struct watching *w, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && w->provider->holds_ready)
		kind = call_sleep(w->call, 10, e);
	return kind;
}

static void tell_unwatched(const struct watching *w)
{
	for (unsigned n = 0; n < w->provider->unwatched; n++) {
		char path[16];

		snprintf(path, sizeof path, "u%u", n);
		w->sink(w->context, &(struct watch_event){ .kind = WATCH_LOST, .path = path },
			NULL);
	}
}

static enum err pass_event(void *context, const struct watch_event *event, struct error *e)
{
	const struct watching *w = context;
	struct counting_provider *p = w->provider;
	bool is_change = event->kind != WATCH_READY && event->kind != WATCH_ITEM;
	bool breaks = is_change && atomic_exchange(&p->breaks_watch, false);

	pthread_mutex_lock(&p->lock);
	const char **name = p->loses ? &p->loses : &p->finds;
	struct watch_event lost = { .kind = p->loses ? WATCH_LOST : WATCH_FOUND,
		.path = is_change ? *name : NULL };

	if (lost.path)
		*name = NULL;
	pthread_mutex_unlock(&p->lock);
	enum err kind = breaks ? error_set(e, ERR_UNREACHABLE, "broken off") : ERR_OK;

	if (event->kind == WATCH_READY) {
		tell_unwatched(w);
		kind = hold_ready(w, e);
	}
	if (event->kind == WATCH_ITEM && event->item->kind == LIST_DIR)
		kind = stand_at_gate(p, w->call, event->item->path, e);
	return kind ? kind : w->sink(w->context, lost.path ? &lost : event, e);
}

static size_t starts_size(const struct list_request *first)
{
	size_t size = 0;

	for (size_t n = 0; first && n < first->starts_count; n++)
		size += strlen(first->starts[n]) + WATCH_START_COST;
	return size;
}

static enum err watch(struct provider *base, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	struct counting_provider *p = (struct counting_provider *)base;
	struct watching w = { .provider = p, .call = call, .sink = sink, .context = context };

	if (!p->has_watch)
		return error_set(e, ERR_UNSUPPORTED, "no stream of changes");
	if (starts_size(request->first) > WATCH_STARTS_MAX)
		return error_set(e, ERR_TOO_LARGE, "a watch that begins with too much");
	enum err kind = check_awake(p, call, e);

	if (kind)
		return kind;
	p->watches++;
	kind = helper_watch(&p->shown->root, call, request, pass_event, &w, e);

	p->watches_over++;
	return kind;
}

static enum err info(
	struct provider *base, const struct call *call, struct sandbox_info *out, struct error *e)
{
	const struct counting_provider *p = (struct counting_provider *)base;

	(void)call;
	(void)e;
	*out = (struct sandbox_info){
		.id = "counted", .expires_s = -1, .identity = p->shown->root.identity
	};
	return ERR_OK;
}

static const struct provider_ops counting_ops = {
	.name = "counting", .info = info, .list = list, .apply = apply, .watch = watch
};

void counting_provider_init(struct counting_provider *p, struct shown *shown)
{
	*p = (struct counting_provider){ .base = { .ops = &counting_ops }, .shown = shown };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
}

void counting_provider_release(struct counting_provider *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
}

void counting_provider_close_gate(struct counting_provider *p, const char *path)
{
	pthread_mutex_lock(&p->lock);
	p->gate = path;
	p->held = p->cancelled = 0;
	pthread_mutex_unlock(&p->lock);
}

void counting_provider_await_held(struct counting_provider *p)
{
	struct timespec end = deadline();
	bool in_time = true;

	pthread_mutex_lock(&p->lock);
	while (!p->held && in_time)
		in_time = pthread_cond_timedwait(&p->changed, &p->lock, &end) == 0;
	in_time = p->held > 0;
	pthread_mutex_unlock(&p->lock);
	cr_assert(in_time, "no list came to the gate");
}

void counting_provider_open_gate(struct counting_provider *p)
{
	pthread_mutex_lock(&p->lock);
	p->gate = NULL;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
