#include "providers/local/local.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/local/bubblewrap.h"
#include "providers/local/jail_helper.h"
#include "providers/helper/helper.h"
#include "providers/helper/staging.h"
#include "providers/client/process.h"
#include "providers/local/store.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct local {
	struct provider base;
	struct local_store store;
	/* root of the verbs in process; otherwise for its identity */
	struct root root;
	struct helper_process process; /* HELPER_PROCESS, and where not the home is shown */
	struct jail jail;
	struct cgroup cgroup;
	const char *bound_by; /* NULL: no bound, since no command will run */
	char *id;
	char *user;      /* the user's name */
	char *root_path; /* the shown directory's path in the jail */
	bool is_in_home; /* the shown directory is JAIL_HOME or below */
};

static struct local *local_of(struct provider *p)
{
	return (struct local *)p;
}

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "local");
}

/* ---- The shown directory ---- */

/* Appends the components of `text` to `path`, without empty ones and "."; ".." is refused. */
static enum err add_components(
	struct buf *path, const char *text, const char *whole, struct error *e)
{
	for (const char *name = text; *name;) {
		size_t len = strcspn(name, "/");
		bool is_dot = len == 1 && name[0] == '.';

		if (len == 2 && !memcmp(name, "..", 2))
			return error_set(e, ERR_INVALID, "local: '%s': '..' is not allowed", whole);
		if (len && !is_dot) {
			buf_add_byte(path, '/');
			buf_add(path, name, len);
		}
		name += len;
		name += *name == '/';
	}
	return buf_check(path, "local: path", e);
}

static bool is_at_or_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* Makes the user's `path` an absolute one of the jail. */
static enum err shown_path(const char *path, char **out, struct error *e)
{
	AUTO_BUF struct buf whole = BUF_INIT(PATH_LENGTH_MAX);
	enum err kind;

	if (!path || *path != '/')
		buf_add_string(&whole, JAIL_HOME);
	kind = add_components(&whole, path ? path : "", path, e);
	if (kind)
		return kind;
	if (is_at_or_below(buf_text(&whole), JAIL_STAGING))
		return error_set(e, ERR_INVALID,
			"local: '%s': " JAIL_STAGING " is where changes wait, and is not shown",
			path);
	*out = strdup(whole.len ? buf_text(&whole) : "/");
	return *out ? ERR_OK : no_memory(e);
}

/* The shown directory's path from the directory of the sandbox's files. */
static const char *path_in_store(const struct local *l)
{
	return l->root_path + strlen("/home/");
}

/*
 * Opens the root by the way that cannot lead out: the sandbox may have put links there. The helper
 * in the jail shows what is not below the home; the home then stands for whose files they are.
 */
static enum err open_root(struct local *l, struct error *e)
{
	struct error why = { 0 };
	char staging[40];

	/* The path stays right whatever happens to staging's name. */
	snprintf(staging, sizeof staging, "/proc/self/fd/%d/.", l->store.staging_fd);
	enum err kind = root_open_below(&l->root, l->store.tree_fd,
		l->is_in_home ? path_in_store(l) : "user", staging, &why);

	if (kind == ERR_LOOP || kind == ERR_STALE)
		return error_set(e, ERR_NOT_DIR, "local: %s is or goes through a symbolic link",
			l->root_path);
	return kind ? error_set(e, kind, "local: %s: %s", l->root_path, error_words(kind)) : ERR_OK;
}

/* ---- Lifecycle ---- */

static void local_release(struct provider *p)
{
	struct local *l = local_of(p);

	helper_process_stop(&l->process);
	root_close(&l->root);
	local_store_close(&l->store);
	cgroup_release(&l->cgroup);
	free(l->id);
	free(l->user);
	free(l->root_path);
	free(l);
}

static char *user_name(void)
{
	char memory[4096];
	struct passwd entry, *found = NULL;

	getpwuid_r(geteuid(), &entry, memory, sizeof memory, &found);
	return strdup(found ? found->pw_name : "user");
}

static enum err start_helper(struct local *l, const struct call *call, struct error *e)
{
	enum err kind = l->is_in_home
		? helper_process_start(&l->process, l->store.tree_fd, path_in_store(l),
			  l->root.staging_fd, call, e)
		: jail_helper_start(&l->process, &l->jail, l->root_path, call, e);

	l->base.helper = l->process.client;
	return kind;
}

static void fill_jail(struct local *l)
{
	const struct local_limits *limits = &l->store.limits;

	l->jail = (struct jail){ .name = l->id,
		.root = l->store.root,
		.home = l->store.home,
		.user_home = l->store.user,
		.staging = l->store.staging,
		.tmp = l->store.tmp,
		.user = l->user,
		.devices = l->store.devices,
		.network = limits->network };
	if (l->cgroup.procs >= 0) {
		l->jail.cgroup = &l->cgroup;
		return;
	}
	l->jail.memory_mb = limits->taken.memory_mb;
	l->jail.pids = limits->taken.pids ? limits->taken.pids : LOCAL_PIDS;
}

static enum err open_store(struct local *l, const struct provider_config *cfg, struct error *e)
{
	struct local_limits asked;
	enum err kind = local_limits_asked(cfg, &asked, e);

	if (!kind && cfg->account_only)
		kind = local_store_find(l->id, e);
	if (!kind)
		kind = local_store_open(&l->store, l->id, &asked, e);
	if (!kind && !cfg->account_only)
		kind = local_limits_bound(&l->store.limits, cfg, &l->cgroup, e);
	if (!cfg->account_only)
		l->bound_by = l->cgroup.procs >= 0 ? "a cgroup" : "rlimits";
	return kind;
}

static enum err fill(struct local *l, const struct provider_config *cfg, struct error *e)
{
	enum err kind = shown_path(cfg->path, &l->root_path, e);

	if (kind)
		return kind;
	l->is_in_home = is_at_or_below(l->root_path, JAIL_HOME);
	l->id = strdup(cfg->id);
	l->user = user_name();
	if (!l->id || !l->user)
		return no_memory(e);
	if (cfg->user && strcmp(cfg->user, l->user))
		return error_set(e, ERR_UNSUPPORTED,
			"local: commands and files belong to %s, who mounts; not to '%s'", l->user,
			cfg->user);
	kind = open_store(l, cfg, e);
	if (kind)
		return kind;
	fill_jail(l);
	l->base.root = l->root_path;
	l->base.staging = JAIL_STAGING;
	kind = open_root(l, e);
	if (!kind)
		staging_clean(&l->root, time(NULL)); /* mounts of this sandbox need no journal */
	return kind;
}

static const struct provider_ops local_without_calls;

static enum err local_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct local *l;
	enum err kind;

	if (!cfg->id)
		return error_set(e, ERR_INVALID, "local: no name given");
	l = calloc(1, sizeof *l);
	if (!l)
		return no_memory(e);
	l->base.ops = &local_without_calls;
	l->root = (struct root){ .dir_fd = -1, .staging_fd = -1 };
	l->store = LOCAL_STORE_NONE;
	l->cgroup = CGROUP_NONE;
	kind = fill(l, cfg, e);
	if (!kind && l->is_in_home && cfg->helper == HELPER_AUTO)
		l->base.ops = &local_provider;
	else if (!kind && !cfg->account_only)
		kind = start_helper(l, call, e);
	if (kind) {
		local_release(&l->base);
		return kind;
	}
	*out = &l->base;
	return ERR_OK;
}

static enum err local_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct provider_config made = *cfg;
	struct provider *p = NULL;
	enum err kind = local_store_create(id, e);

	if (kind)
		return kind;
	made.id = id;
	kind = local_connect(&made, call, &p, e);
	if (p)
		local_release(p);
	if (kind)
		local_store_delete(id, NULL);
	return kind;
}

/* In a jail of a user the groups of this machine have other numbers. */
static struct identity identity_of(const struct local *l)
{
	return l->base.helper ? helper_client_hello(l->base.helper)->identity : l->root.identity;
}

static enum err local_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	const struct local *l = local_of(p);

	(void)call, (void)e;
	*out = (struct sandbox_info){
		.state = SANDBOX_RUNNING, .expires_s = -1, .identity = identity_of(l)
	};
	snprintf(out->id, sizeof out->id, "%s", l->id);
	snprintf(out->root, sizeof out->root, "%s", l->root_path);
	local_limits_text(&l->store.limits, l->bound_by, out->limits, sizeof out->limits);
	snprintf(out->note, sizeof out->note, "%s", l->store.note);
	return ERR_OK;
}

static enum err local_list_sandboxes(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	(void)cfg, (void)call;
	return local_store_list(sink, context, e);
}

static enum err local_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	(void)call;
	if (!cfg->id)
		return error_set(e, ERR_INVALID, "local: no name given");
	return local_store_delete(cfg->id, e);
}

/* The sandbox's network is this machine's. */
static enum err local_url(struct provider *p, const struct call *call, unsigned port,
	struct buf *out, struct error *e)
{
	(void)call;
	if (local_of(p)->jail.network == NETWORK_NONE || local_of(p)->jail.network == NETWORK_NAT)
		return error_set(e, ERR_UNSUPPORTED,
			"local:%s has no network of this machine; its commands alone reach its "
			"ports",
			local_of(p)->id);
	buf_printf(out, "http://127.0.0.1:%u", port);
	return ERR_OK;
}

/* ---- execute ---- */

static enum err local_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct local *l = local_of(p);
	const char *cwd = request->cwd ? request->cwd : "";
	AUTO_FREE char *path = NULL;
	enum err kind = path_check(cwd, e);

	*result = (struct execute_result){ 0 };
	if (kind)
		return kind;
	if (path_is_staged(cwd))
		return error_set(
			e, ERR_INVALID, "local: '%s': commands do not run in staging", cwd);
	if (asprintf(&path, "%s%s%s", l->root_path[1] ? l->root_path : "", *cwd ? "/" : "", cwd) <
		0)
		return no_memory(e);
	return bubblewrap_run(&l->jail, call, request, path, sink, context, result, e);
}

/* ---- The batch verbs in process ---- */

static enum err local_list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	AUTO_ROOT struct root now;

	(void)call;
	root_find(&local_of(p)->root, &now);
	return helper_list(&now, request, sink, context, e);
}

static enum err local_fetch(struct provider *p, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	AUTO_ROOT struct root now;

	(void)call;
	root_find(&local_of(p)->root, &now);
	return helper_fetch(&now, items, items_count, sink, context, e);
}

static enum err local_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	AUTO_ROOT struct root now;

	root_find(&local_of(p)->root, &now);
	return helper_apply(&now, call, request, results, e);
}

static enum err local_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	return helper_watch(&local_of(p)->root, call, request, sink, context, e);
}

/* ---- The tables ---- */

#define LOCAL_FACTS                                                                                \
	.name = "local", .title = "Embedded sandbox", .key_names = "",                             \
	.caps = PROVIDER_EMBEDDED | PROVIDER_NAMES_IDS, .create_options = LOCAL_LIMIT_OPTIONS,     \
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER, .create = local_create,              \
	.connect = local_connect, .release = local_release, .info = local_info,                    \
	.list_sandboxes = local_list_sandboxes, .delete = local_delete, .url = local_url,          \
	.execute = local_execute

const struct provider_ops local_provider = {
	LOCAL_FACTS,
	.list = local_list,
	.fetch = local_fetch,
	.apply = local_apply,
	.watch = local_watch,
};

/* The verbs are the helper's, as for a vendor. */
static const struct provider_ops local_without_calls = { LOCAL_FACTS };
