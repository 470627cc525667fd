#include "providers/e2b/e2b.h"

struct watched {
	const struct e2b *b;
	watch_sink sink;
	void *context;
	bool has_begun; /* from then on the caller must list anew */
};

static enum err pass_on(void *context, const struct watch_event *event, struct error *e)
{
	struct watched *w = context;

	w->has_begun = true;
	return w->sink(w->context, event, e);
}

static enum err watch_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct watched *w = context;
	enum err kind = envd_watch(d, call, w->b->base.root, w->b->base.staging, pass_on, w, e);

	*is_done = w->has_begun;
	return kind;
}

enum err e2b_watch(struct provider *p, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e)
{
	(void)request;
	struct watched w = { .b = e2b_of(p), .sink = sink, .context = context };

	return e2b_reach(e2b_of(p), call, watch_step, &w, e);
}
