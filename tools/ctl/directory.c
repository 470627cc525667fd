#include "tools/ctl/directory.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"

struct directory {
	struct provider base;
	struct root root;
};

static const struct root *root_of(struct provider *p)
{
	return &((struct directory *)p)->root;
}

static enum err directory_list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	(void)call;
	return helper_list(root_of(p), request, sink, context, e);
}

static enum err directory_fetch(struct provider *p, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	(void)call;
	return helper_fetch(root_of(p), items, items_count, sink, context, e);
}

static enum err directory_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	return helper_apply(root_of(p), call, request, results, e);
}

static void directory_release(struct provider *p)
{
	root_close(&((struct directory *)p)->root);
	free(p);
}

static const struct provider_ops directory_ops = {
	.name = "directory",
	.caps = PROVIDER_EMBEDDED,
	.release = directory_release,
	.list = directory_list,
	.fetch = directory_fetch,
	.apply = directory_apply,
};

enum err directory_open(const char *path, struct provider **out, struct error *e)
{
	AUTO_FREE struct directory *d = calloc(1, sizeof *d);
	enum err kind;

	if (!d)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	d->base.ops = &directory_ops;
	kind = root_open(&d->root, path, NULL, e);
	if (kind == ERR_OK)
		*out = &take(d)->base;
	return kind;
}
