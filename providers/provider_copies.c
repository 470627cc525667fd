/* Snapshots and forks of sandboxes. */
#include "providers/provider_inside.h"

static enum err cannot(const struct provider_ops *ops, const char *what, struct error *e)
{
	return error_set(e, ERR_UNSUPPORTED, "%s: %s", ops->name, what);
}

static enum err check_id(
	const struct provider_ops *ops, const char *id, const char *of, struct error *e)
{
	if (provider_is_id(id))
		return ERR_OK;
	return error_set(e, ERR_PROTOCOL, "%s: '%.100s' is no ID of a %s", ops->name, id, of);
}

enum err provider_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	enum err kind;

	if (!p->ops->snapshot)
		return cannot(p->ops, "sandboxes have no snapshots", e);
	kind = p->ops->snapshot(p, call, name, id, e);
	return kind ? kind : check_id(p->ops, id, "snapshot", e);
}

struct listing {
	const struct provider_ops *ops;
	snapshot_sink sink;
	void *context;
};

static enum err pass_snapshot(void *context, const char *id, const char *name, struct error *e)
{
	const struct listing *l = context;
	enum err kind = check_id(l->ops, id, "snapshot", e);

	return kind ? kind : l->sink(l->context, id, name, e);
}

enum err provider_list_snapshots(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, snapshot_sink sink, void *context, struct error *e)
{
	struct listing l = { ops, sink, context };

	return ops->list_snapshots ? ops->list_snapshots(cfg, call, pass_snapshot, &l, e)
				   : cannot(ops, "cannot list snapshots", e);
}

enum err provider_delete_snapshot(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, const char *id, struct error *e)
{
	return ops->delete_snapshot ? ops->delete_snapshot(cfg, call, id, e)
				    : cannot(ops, "cannot delete snapshots", e);
}

enum err provider_fork(struct provider *p, const struct call *call, char id[128], struct error *e)
{
	enum err kind;

	if (!p->ops->fork)
		return cannot(p->ops,
			p->ops->snapshot ? "sandboxes cannot be forked; sandboxctl snapshot prints "
					   "what sandboxctl create makes a copy from"
					 : "sandboxes cannot be forked",
			e);
	kind = p->ops->fork(p, call, id, e);
	return kind ? kind : check_id(p->ops, id, "sandbox", e);
}
