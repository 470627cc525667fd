#include "tools/ctl/alive.h"

#include "cache/session/lifetime.h"

enum err alive_begin(struct alive *a, struct provider *p, const struct call *call, struct error *e)
{
	const struct counted_provider counted = { .provider = p };
	struct sandbox_info info;
	enum err kind = provider_info(p, call, &info, e);

	*a = (struct alive){ 0 };
	if (kind || info.expires_s < 0)
		return kind;
	kind = lifetime_new(&a->lifetime, &counted,
		&(struct lifetime_options){
			.left_s = info.expires_s, .progress_ms = call->progress_ms },
		e);
	lifetime_hold(a->lifetime);
	return kind;
}

void alive_end(struct alive *a)
{
	lifetime_let(a->lifetime);
	lifetime_free(a->lifetime);
	*a = (struct alive){ 0 };
}
