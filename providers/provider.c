#include "providers/provider_inside.h"

#include "providers/aio/aio.h"
#include "providers/asking.h"
#include "providers/command/command.h"
#include "providers/daytona/daytona.h"
#include "providers/e2b/e2b.h"
#include "providers/client/client.h"
#include "providers/langsmith/langsmith.h"
#include "providers/local/local.h"
#include "providers/modal/modal.h"
#include "providers/runloop/runloop.h"

#include <string.h>

/*
 * The largest fetch where an answer must be whole before its first byte is read: 0.3 s of a disk's
 * time, 2.7 s of 100 Mbit/s.
 */
#define LATE_FETCH_MAX ((uint64_t)32 * 1024 * 1024)

/* Longer than any that browsers take. */
#define URL_MAX 4096

static const struct provider_ops *const vendors[] = {
	&local_provider,
	&ssh_provider,
	&docker_provider,
	&podman_provider,
	&kubernetes_provider,
	&command_provider,
	&aio_provider,
	&daytona_provider,
	&e2b_provider,
	&langsmith_provider,
	&modal_provider,
	&runloop_provider,
};

#define VENDORS_COUNT (sizeof vendors / sizeof *vendors)

const struct provider_ops *provider_at(size_t index)
{
	return index < VENDORS_COUNT ? vendors[index] : NULL;
}

const struct provider_ops *provider_find(const char *name, size_t name_len)
{
	for (size_t i = 0; i < VENDORS_COUNT; i++)
		if (strlen(vendors[i]->name) == name_len &&
			!memcmp(vendors[i]->name, name, name_len))
			return vendors[i];
	return NULL;
}

void provider_names(struct buf *out)
{
	for (size_t i = 0; i < VENDORS_COUNT; i++)
		buf_printf(out, "%s%s", i ? ", " : "", vendors[i]->name);
}

/* ---- The life of a sandbox ---- */

static enum err cannot(const struct provider_ops *ops, const char *what, struct error *e)
{
	return error_set(e, ERR_UNSUPPORTED, "%s: %s", ops->name, what);
}

enum err provider_connect(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct provider **out, struct error *e)
{
	enum err kind = provider_check_connect(ops, cfg, e);

	return kind ? kind : ops->connect(cfg, call, out, e);
}

void provider_release(struct provider *p)
{
	if (p)
		p->ops->release(p);
}

bool provider_is_gone(const struct provider *p)
{
	return atomic_load(&p->is_gone);
}

const char *sandbox_state_word(enum sandbox_state state)
{
	switch (state) {
	case SANDBOX_RUNNING: return "running";
	case SANDBOX_PAUSED: return "paused";
	case SANDBOX_STOPPED: return "stopped";
	case SANDBOX_ERROR: return "error";
	case SANDBOX_FAILED: return "failed";
	}
	return "unknown";
}

enum err provider_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	enum err kind = p->ops->info(p, call, out, e);

	out->has_facts = kind == ERR_OK && p->helper;
	if (out->has_facts)
		out->facts = helper_client_hello(p->helper)->root;
	return kind;
}

void provider_warning(struct provider *p, char out[SANDBOX_WARNING_SIZE])
{
	if (p->ops->warning)
		p->ops->warning(p, out);
}

/* No account has so many: a service that goes on is astray. */
#define SANDBOXES_MAX 100000

/* A list on its way to a caller, who gets the sandboxes that could be read. */
struct readable {
	sandbox_sink sink;
	void *context;
	size_t count, unread;
	struct error why; /* the first sandbox's reason */
};

static enum err pass_readable(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct readable *r = context;

	if (++r->count > SANDBOXES_MAX)
		return error_set(e, ERR_TOO_LARGE,
			"more than %d sandboxes came: the list has no end", SANDBOXES_MAX);
	if (!entry->unread)
		return r->sink(r->context, entry, e);
	if (!r->unread++)
		error_set(&r->why, ERR_PROTOCOL, "%s", entry->unread);
	return ERR_OK;
}

enum err provider_list_sandboxes(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, sandbox_sink sink, void *context, struct error *e)
{
	struct readable r = { .sink = sink, .context = context };
	enum err kind;

	if (!ops->list_sandboxes)
		return cannot(ops, "cannot list sandboxes", e);
	kind = ops->list_sandboxes(cfg, call, pass_readable, &r, e);
	if (!kind && r.unread)
		return error_set(e, r.why.kind, "%s; so %zu in the list cannot be shown",
			r.why.text, r.unread);
	return kind;
}

struct offering {
	id_sink sink;
	void *context;
};

static enum err offer_entry(void *context, const struct sandbox_entry *entry, struct error *e)
{
	const struct offering *o = context;

	(void)e;
	o->sink(o->context, entry->id);
	return ERR_OK;
}

void provider_offer_ids(
	const struct provider_ops *ops, const struct call *call, id_sink sink, void *context)
{
	const struct provider_config config = { 0 };
	struct offering o = { sink, context };

	if (ops->offer_ids)
		ops->offer_ids(call, sink, context, NULL);
	else
		provider_list_sandboxes(ops, &config, call, offer_entry, &o, NULL);
}

enum err provider_delete(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	if (!ops->delete)
		return cannot(ops, "cannot delete sandboxes", e);
	return ops->delete (cfg, call, e);
}

enum err provider_pause(struct provider *p, const struct call *call, struct error *e)
{
	return p->ops->pause ? p->ops->pause(p, call, e)
			     : cannot(p->ops, "sandboxes cannot be paused", e);
}

enum err provider_resume(struct provider *p, const struct call *call, struct error *e)
{
	return p->ops->resume ? p->ops->resume(p, call, e)
			      : cannot(p->ops, "sandboxes cannot be resumed", e);
}

enum err provider_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	return p->ops->extend ? p->ops->extend(p, call, seconds, e) : ERR_OK;
}

enum err provider_set_network(struct provider *p, const struct call *call, bool blocked,
	const char *const *allowed, struct error *e)
{
	return p->ops->set_network
		? p->ops->set_network(p, call, blocked, allowed, e)
		: cannot(p->ops, "the network of a sandbox that exists cannot be changed", e);
}

enum err provider_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	return p->ops->logs ? p->ops->logs(p, call, sink, context, e)
			    : cannot(p->ops, "no logs of sandboxes are kept", e);
}

static bool is_ascii(const char *text, size_t len, char first)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < first || text[i] > '~')
			return false;
	return true;
}

/* A URL, and perhaps a line with a header, come from the vendor and go to terminals and scripts. */
static bool is_url(const char *text)
{
	size_t len = strcspn(text, "\n");
	const char *header = text + len + (text[len] == '\n');

	return (!strncmp(text, "https://", 8) || !strncmp(text, "http://", 7)) &&
		is_ascii(text, len, '!') && is_ascii(header, strlen(header), ' ');
}

enum err provider_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	AUTO_BUF struct buf url = BUF_INIT(URL_MAX);
	enum err kind;

	if (!port || port > UINT16_MAX)
		return error_set(e, ERR_INVALID, "'%u' is no port: they are 1 to 65535", port);
	if (!p->ops->url)
		return cannot(p->ops, "ports are not shown outside", e);
	kind = p->ops->url(p, call, port, &url, e);
	if (!kind)
		kind = buf_check(&url, "a port's URL", e);
	if (!kind && !is_url(buf_text(&url)))
		kind = error_set(e, ERR_PROTOCOL, "%s: what it tells of port %u is no URL",
			p->ops->name, port);
	if (!kind)
		buf_add_string(out, buf_text(&url));
	return kind ? kind : buf_check(out, "a port's URL", e);
}

enum err provider_pages(struct provider *p, struct buf *out, struct error *e)
{
	if (!p->ops->pages)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: its sandboxes have no web pages of their own; give a port",
			p->ops->name);
	p->ops->pages(p, out);
	return ERR_OK;
}

enum err provider_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return p->ops->execute(p, call, request, sink, context, result, e);
}

/* ---- The batch verbs: the vendor's own, else the helper's ---- */

static enum err has_no_helper(const struct provider *p, struct error *e)
{
	return p->no_helper ? error_set(e, ERR_UNSUPPORTED, "%s", p->no_helper)
			    : cannot(p->ops, "there is no helper program", e);
}

/* The longest time for repeating a listing: meanwhile the attributes that are known serve. */
#define LIST_AGAIN_MS 3000
/* The longest time for repeating a fetch in the background, for which no user waits. */
#define BEHIND_AGAIN_MS 3000

struct listing {
	struct asking asking;
	list_sink sink;
	void *context;
};

static enum err pass_listed(void *context, const struct list_item *item, struct error *e)
{
	struct listing *l = context;

	l->asking.is_answered = true;
	return l->sink(l->context, item, e);
}

static enum err list_by_helper(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	struct listing l = { { .call = call, .limit_ms = LIST_AGAIN_MS }, sink, context };
	struct error why;
	enum err kind;

	do {
		why = (struct error){ 0 };
		kind = helper_client_list(p->helper, call, request, pass_listed, &l, &why);
	} while (asking_goes_on(&l.asking, &kind));
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err provider_list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	if (p->ops->list)
		return p->ops->list(p, call, request, sink, context, e);
	return p->helper ? list_by_helper(p, call, request, sink, context, e) : has_no_helper(p, e);
}

struct fetching {
	struct asking asking;
	fetch_sink sink;
	void *context;
};

static enum err pass_fetched(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetching *f = context;

	f->asking.is_answered = true;
	return f->sink(f->context, piece, e);
}

static enum err fetch_by_helper(struct provider *p, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	bool is_behind = call && call->is_background;
	struct fetching f = { { .call = call, .limit_ms = is_behind ? BEHIND_AGAIN_MS : 0 }, sink,
		context };
	struct error why;
	enum err kind;

	do {
		why = (struct error){ 0 };
		kind = helper_client_fetch(
			p->helper, call, items, items_count, pass_fetched, &f, &why);
	} while (asking_goes_on(&f.asking, &kind));
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err provider_fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e)
{
	if (p->ops->fetch)
		return p->ops->fetch(p, call, items, items_count, sink, context, e);
	return p->helper ? fetch_by_helper(p, call, items, items_count, sink, context, e)
			 : has_no_helper(p, e);
}

uint64_t provider_fetch_max(const struct provider *p)
{
	return p->helper && helper_client_is_late(p->helper) ? LATE_FETCH_MAX : UINT64_MAX;
}

enum err provider_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	if (p->ops->apply)
		return p->ops->apply(p, call, request, results, e);
	return p->helper ? helper_client_apply(p->helper, call, request, results, e)
			 : has_no_helper(p, e);
}

enum err provider_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	if (p->ops->watch)
		return p->ops->watch(p, call, request, sink, context, e);
	return p->helper ? helper_client_watch(p->helper, call, request, sink, context, e)
			 : has_no_helper(p, e);
}
