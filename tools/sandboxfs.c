/*
 * sandboxfs - shows a sandbox as a directory of this machine.
 *
 *     words and environment   config.c, options.c
 *     PROVIDER:[ID][:PATH]    source.c
 *     early checks            preflight.c
 *     background              daemon.c, signals.c
 *
 * After these come the layers in their order: the provider is connected, the cache uses it, and the
 * mount uses the cache. The last one built is taken down first. A sandbox made for this mount is
 * deleted at the very end.
 */
#include "cache/cache.h"
#include "cache/session/disk.h"
#include "fs/audit.h"
#include "fs/mount.h"
#include "providers/base/cleanup.h"
#include "providers/base/inherited.h"
#include "providers/base/log.h"
#include "tools/account_url.h"
#include "tools/build_news.h"
#include "tools/config.h"
#include "tools/daemon.h"
#include "tools/namespace.h"
#include "tools/preflight.h"
#include "tools/reuse.h"
#include "tools/say.h"
#include "tools/secrecy.h"
#include "tools/signals.h"
#include "tools/source.h"
#include "tools/user_dirs.h"
#include "tools/watcher.h"
#include "tools/workdir.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The parts of one run. */
struct run {
	const struct config *config;
	const struct source *source;
	const struct setup *setup; /* for a new sandbox */
	const char *mountpoint;
	struct daemon *daemon;
	struct signals *signals;
	struct call call; /* for calls before the mount: a signal cancels it */
	struct provider_config provider_config;
	struct watcher watcher;
	struct watch_request opening; /* provider_config.opening points here */
	struct provider *provider;
	/* "": none was looked for, or none found */
	char found_id[sizeof((struct sandbox_info *)0)->id];
	char made_id[sizeof((struct sandbox_info *)0)->id]; /* "": the source names the sandbox */
	/* lock of reuse.h, held while a new sandbox may be deleted again; -1: none */
	int reuse_lock;
	bool is_announced;
	struct audit *audit; /* NULL: no record is kept */
	struct mount *mount; /* with `lazy` it exists before the sandbox; NULL: not yet */
};

/* ---- The sandbox ---- */

/* Whether this run made the sandbox, and may delete it. */
static bool has_made_sandbox(const struct run *r)
{
	return r->made_id[0] && !(r->source->ops->caps & PROVIDER_SINGLE);
}

/* Returns whether the sandbox was deleted. */
static bool delete_sandbox(struct run *r)
{
	struct error e = { 0 };
	struct call call = { .progress_ms = r->config->progress_ms };

	if (!has_made_sandbox(r))
		return false;
	if (!provider_delete(r->source->ops, &r->provider_config, &call, &e))
		return true;
	log_error(LOG_TOOLS, "sandbox %s is left behind: %s", r->made_id, e.text);
	return false;
}

static enum err make_sandbox(struct run *r, struct error *e)
{
	struct build_news news;
	enum err kind;

	build_news_begin(&news);
	r->provider_config.build_log = &news.log;
	kind = provider_create(r->source->ops, &r->provider_config, &r->call, r->made_id, e);
	r->provider_config.build_log = NULL;
	build_news_end(&news, kind);
	if (kind)
		return kind;
	r->provider_config.id = r->made_id;
	log_info(LOG_TOOLS, "%s sandbox %s:%s", has_made_sandbox(r) ? "made" : "found",
		r->source->ops->name, r->made_id);
	return ERR_OK;
}

/* The sandbox is whole and stays: other processes may find it from now on. */
static void end_reuse(struct run *r)
{
	if (r->reuse_lock >= 0)
		close(take_fd(&r->reuse_lock));
}

static enum err find_or_make(struct run *r, struct error *e)
{
	enum err kind = reuse_begin(
		&r->reuse_lock, r->source->ops, &r->provider_config, &r->call, r->found_id, e);

	if (kind)
		return kind;
	if (!*r->found_id)
		return make_sandbox(r, e);
	end_reuse(r);
	r->provider_config.id = r->found_id;
	log_info(LOG_TOOLS, "found sandbox %s:%s", r->source->ops->name, r->found_id);
	return ERR_OK;
}

static bool is_kept(const struct run *r)
{
	return r->config->keep || r->config->reuse;
}

static struct provider_config wanted_sandbox(const struct source *source, const struct config *c)
{
	struct provider_config wanted = {
		.id = source->id,
		.path = source->path,
		.user = c->user,
		.key_file = c->key_file,
		.app = c->app,
		.client_options = (const char *const *)c->client,
		.helper = (enum helper_mode)c->helper,
		.resume = (enum resume_mode)c->resume,
		.progress_ms = c->progress_ms,
	};

	creation_ask(&c->creation, &wanted);
	return wanted;
}

/* Refuses options for a new sandbox where the sandbox exists. */
static enum err check_existing(const struct run *r, struct error *e)
{
	const struct provider_ops *ops = r->source->ops;
	/* A sandbox that its first use makes takes the options of a new one. */
	unsigned taken =
		ops->connect_options | (ops->caps & PROVIDER_NAMES_IDS ? ops->create_options : 0);
	unsigned asked = provider_options_asked(&r->provider_config) & OPTIONS_OF_MAKING & ~taken;
	AUTO_BUF struct buf names = BUF_INIT(1000);

	if (asked)
		provider_option_names(asked, &names);
	else if (r->setup->request)
		buf_add_string(&names, "setup=");
	else if (r->config->workdir)
		buf_add_string(&names, "workdir=");
	else if (r->config->reuse)
		buf_add_string(&names, "reuse");
	if (!names.len)
		return ERR_OK;
	return error_set(e, ERR_INVALID,
		"option '%s': %s:%s exists already; leave one of the two out", buf_text(&names),
		r->source->ops->name, r->source->id);
}

/* Sets the first request of the mount's change stream, and the stream's id. */
static void prepare_opening(struct run *r)
{
	struct cache_options options = { .attr_ms = r->config->attr_ms,
		.entry_ms = r->config->entry_ms };
	bool is_remote = !(r->source->ops->caps & PROVIDER_EMBEDDED);
	AUTO_FREE char *dir = is_remote ? user_journals_dir(r->config->journal) : NULL;

	r->watcher = watcher_new(dir, r->source->ops->name, &r->provider_config);
	memcpy(options.watcher, r->watcher.id, sizeof options.watcher);
	r->opening = cache_opening(&options);
	r->provider_config.opening = r->opening.first ? &r->opening : NULL;
}

/* Adds to the error of a failed script what happens to the sandbox. */
static enum err end_failed_setup(struct run *r, enum err kind, struct error *e)
{
	struct error why = *e;

	if (r->config->setup.keep_failed && kind != ERR_INTERRUPTED)
		return error_set(e, kind, "%.200s; %s:%s is kept", why.text, r->source->ops->name,
			r->made_id);
	if (!delete_sandbox(r))
		return kind;
	return error_set(
		e, kind, "%s; the sandbox was deleted (-o keep_failed keeps it)", why.text);
}

/*
 * Whether a named directory that is missing is made: in a new sandbox, and where a provider with
 * one sandbox uses its directories as workspaces.
 */
static bool makes_path(const struct run *r)
{
	return r->source->path &&
		(has_made_sandbox(r) ||
			(r->source->ops->caps & PROVIDER_SINGLE && !r->config->read_only));
}

static enum err connect_to(struct run *r, struct error *e)
{
	const struct source *s = r->source;
	struct error why = { 0 };
	enum err kind = provider_connect(s->ops, &r->provider_config, &r->call, &r->provider, &why);

	if (kind == ERR_NOT_FOUND && makes_path(r)) {
		kind = workdir_make(s->ops, &r->provider_config, &r->call, s->path, &why);
		if (!kind)
			kind = provider_connect(
				s->ops, &r->provider_config, &r->call, &r->provider, &why);
		if (!kind)
			log_info(LOG_TOOLS, "made the directory %s", s->path);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err ignore_entry(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)context;
	(void)entry;
	(void)e;
	return ERR_OK;
}

/*
 * `mount -f`: a sandbox with an ID is connected to as for a mount. For a new sandbox the options
 * are checked, and the account is asked whether it accepts the key.
 */
static enum err try_sandbox(struct run *r, struct error *e)
{
	const struct provider_ops *ops = r->source->ops;
	enum err kind;

	r->provider_config = wanted_sandbox(r->source, r->config);
	if (r->source->id) {
		kind = check_existing(r, e);
		return kind ? kind
			    : provider_connect(ops, &r->provider_config, &r->call, &r->provider, e);
	}
	kind = provider_check_create(ops, &r->provider_config, e);
	return kind ? kind
		    : provider_list_sandboxes(
			      ops, &r->provider_config, &r->call, ignore_entry, NULL, e);
}

static enum err choose_sandbox(struct run *r, struct error *e)
{
	if (r->source->id)
		return check_existing(r, e);
	r->provider_config.path = NULL;
	return r->config->reuse ? find_or_make(r, e) : make_sandbox(r, e);
}

/*
 * The directory to make before the first connection to it; NULL: none. connect_to() makes the path
 * of the source where it is missing, which comes too late for a setup script.
 */
static const char *early_dir(const struct run *r)
{
	if (r->config->workdir)
		return r->config->workdir;
	return r->setup->request && has_made_sandbox(r) ? r->source->path : NULL;
}

static enum err open_sandbox(struct run *r, struct error *e)
{
	const char *dir;
	enum err kind;

	r->provider_config = wanted_sandbox(r->source, r->config);
	kind = choose_sandbox(r, e);
	if (kind)
		return kind;
	/* Before the mount's first request; each over a connection of its own. */
	dir = early_dir(r);
	if (dir)
		kind = workdir_make(r->source->ops, &r->provider_config, &r->call, dir, e);
	r->provider_config.path = dir ? dir : r->source->path;
	if (!kind && r->setup->request && !*r->found_id) {
		kind = setup_run(r->setup, r->source->ops, &r->provider_config, &r->call, e);
		if (kind)
			return end_failed_setup(r, kind, e);
	}
	if (!kind) {
		prepare_opening(r);
		kind = connect_to(r, e);
	}
	if (kind)
		delete_sandbox(r);
	return kind;
}

/* A sandbox is left behind only if its id was printed. */
static void close_sandbox(struct run *r)
{
	provider_release(r->provider);
	if (!r->is_announced || !is_kept(r))
		delete_sandbox(r);
}

/* ---- The mount ---- */

static void announce(struct run *r)
{
	if (has_made_sandbox(r))
		daemon_say(r->daemon, "sandboxfs: made %s:%s%s", r->source->ops->name, r->made_id,
			is_kept(r) ? "" : ", to be deleted at unmount (-o keep keeps it)");
	r->is_announced = true;
	end_reuse(r);
	daemon_serving(r->daemon);
}

/* Returns after the last reply, when the mount is gone. */
static enum err serve(struct run *r, struct mount *mount, struct error *e)
{
	enum err kind = mount_start(mount, e);

	if (kind)
		return kind;
	if (!r->is_announced)
		announce(r);
	end_reuse(r);
	signals_stop(r->signals, mount);
	kind = mount_serve(mount, e);
	signals_stop(r->signals, NULL);
	return kind;
}

/* `cache` NULL: the mount does not depend on the sandbox yet. */
static struct mount_options wanted_mount(const struct run *r, const char *source,
	const char *kernel_options, const struct cache *cache)
{
	const struct config *c = r->config;

	return (struct mount_options){
		.source = source,
		.mountpoint = r->mountpoint,
		.kernel_options = kernel_options,
		.allow_other = c->allow_other,
		.allow_root = c->allow_root,
		.read_only = c->read_only,
		.debug = c->debug,
		.map_owners = cache && config_maps_owners(c, &cache_sandbox(cache)->identity),
		.uid = config_owner_uid(c),
		.gid = config_owner_gid(c),
		.symlinks = (enum mount_symlinks)c->symlinks,
		.list_control = c->list_control,
		.exec = { .timeout_ms = c->exec_timeout_ms, .shell = c->exec_shell },
		.audit = r->audit,
		.threads_max = (unsigned)c->threads_max,
	};
}

static enum err mount_cache(struct run *r, struct cache *cache, struct error *e)
{
	const struct source shown = { .ops = r->source->ops,
		.path = (char *)r->provider_config.path };
	AUTO_FREE char *source = source_text(&shown, r->provider_config.id);
	AUTO_FREE char *kernel_options = config_kernel_options(r->config);
	struct mount *mount = take(r->mount);
	enum err kind;

	if (source && kernel_options) {
		const struct mount_options options = wanted_mount(r, source, kernel_options, cache);

		kind = mount ? mount_attach(mount, cache, &options, e)
			     : mount_new(&mount, cache, &options, e);
	} else {
		kind = error_set(e, ERR_NO_MEMORY, "mount options");
	}
	if (!kind)
		kind = serve(r, mount, e);
	mount_free(mount);
	return kind;
}

/* Each failed change was reported when it was refused, and to a barrier. */
static void tell_refused(const struct cache_status *status)
{
	if (status->failed_changes)
		log_warn(LOG_TOOLS, "the sandbox refused %llu change%s%s%s",
			(unsigned long long)status->failed_changes,
			status->failed_changes == 1 ? "" : "s",
			status->journal_dir ? ", kept in " : "",
			status->journal_dir ? status->journal_dir : "");
}

/* After an unmount without umount(8)'s helper the changes are still sent, or reported. */
static enum err send_pending(const struct run *r, struct cache *cache, struct error *e)
{
	struct error why = { 0 };
	struct call call = { .progress_ms = r->config->progress_ms };
	struct cache_status status;
	enum err kind = cache_sync(cache, &call, &why);

	cache_get_status(cache, &status);
	if (!kind && !status.refused_inherited) {
		tell_refused(&status);
		return ERR_OK;
	}
	if (!kind)
		return error_set(e, ERR_CONFLICT,
			"the sandbox refused %llu change%s of an earlier mount%s%s",
			(unsigned long long)status.refused_inherited,
			status.refused_inherited == 1 ? "" : "s",
			status.journal_dir ? "; what is not done is kept in " : "",
			status.journal_dir ? status.journal_dir : "");
	return error_set(e, kind, "not everything could be sent: %s%s%s", why.text,
		status.journal_dir ? "; it is kept for the next mount, in " : "",
		status.journal_dir ? status.journal_dir : "");
}

static struct cache_options wanted_cache(const struct run *r, const struct sandbox_info *info)
{
	const struct config *c = r->config;
	struct cache_options options = {
		.sandbox = info,
		.attr_ms = c->attr_ms,
		.entry_ms = c->entry_ms,
		.progress_ms = c->progress_ms,
		.lifetime_s = r->provider_config.lifetime_s,
		.owners_from_caller =
			info->identity.uid == 0 && !config_maps_owners(c, &info->identity),
		.is_remote = !(r->provider->ops->caps & PROVIDER_EMBEDDED),
		.write_through = c->write_through,
		.close_waits = c->close_waits,
		.excl_remote = c->excl_remote,
		.journal_max = (uint64_t)c->journal_mb << 20,
		.full_fails = c->full_fails,
		.mount = r->mountpoint,
		.contents_max = (uint64_t)c->cache_mb << 20,
	};

	memcpy(options.watcher, r->watcher.id, sizeof options.watcher);
	return options;
}

/* A directory that the user does not have cannot contain pending changes. */
static bool may_do_without(const struct config *c, const char *dir)
{
	struct stat st;

	return !c->journal && lstat(dir, &st) && errno == ENOENT;
}

/*
 * The directory of the sandbox's journal. *out NULL: changes are kept in memory, because of an
 * option, or because the user's home takes no directory and no changes are pending in one.
 */
static enum err find_journal(
	struct run *r, const struct sandbox_info *info, char **out, struct error *e)
{
	AUTO_FREE char *dir = user_journal_dir(r->config->journal, r->source->ops->name, info);
	/* The sandbox's name, which may be long, stands in the reason. */
	int above = dir ? (int)(strrchr(dir, '/') + 1 - dir) : 0;
	AUTO_CLOSE int fd = -1;
	struct error why = { 0 };

	*out = NULL;
	if (dir && disk_open_own(&fd, dir, &why)) {
		if (!may_do_without(r->config, dir))
			return error_set(e, why.kind,
				"changes cannot be kept in %.*s: %s; -o journal=DIR and -o "
				"cache=DIR name other places",
				above, dir, why.text);
		daemon_say(r->daemon,
			"sandboxfs: changes cannot be kept in %.*s (%s): what the sandbox does not "
			"have yet ends with the mount; -o journal=DIR and -o cache=DIR name other "
			"places",
			above, dir, why.text);
		return ERR_OK;
	}
	*out = take(dir);
	return ERR_OK;
}

static enum err mount_sandbox(struct run *r, struct error *e)
{
	struct sandbox_info info;
	struct cache *cache = NULL;
	AUTO_FREE char *contents_dir = user_cache_dir(r->config->cache);
	AUTO_FREE char *journal_dir = NULL;
	enum err kind = provider_info(r->provider, &r->call, &info, e);

	if (kind)
		return kind;
	if (*info.warning)
		daemon_say(r->daemon, "sandboxfs: %s:%s: %s", r->source->ops->name, info.id,
			info.warning);
	struct cache_options options = wanted_cache(r, &info);

	if (options.is_remote)
		kind = find_journal(r, &info, &journal_dir, e);
	if (kind)
		return kind;
	options.journal_dir = journal_dir;
	options.contents_dir = contents_dir;
	kind = cache_new(&cache, r->provider, &options, &r->call, e);
	if (kind)
		return kind;
	kind = mount_cache(r, cache, e);
	if (!kind)
		kind = send_pending(r, cache, e);
	cache_free(cache);
	return kind;
}

/* ---- A sandbox made at the first use ---- */

/* The mount, without a sandbox. */
static enum err mount_unused(struct run *r, struct error *e)
{
	AUTO_FREE char *source = source_text(r->source, "");
	AUTO_FREE char *kernel_options = config_kernel_options(r->config);
	enum err kind;

	if (!source || !kernel_options)
		return error_set(e, ERR_NO_MEMORY, "mount options");
	const struct mount_options options = wanted_mount(r, source, kernel_options, NULL);

	kind = mount_new(&r->mount, NULL, &options, e);
	if (!kind)
		announce(r);
	return kind;
}

/* On failure the request that waits is refused, and the next use tries again. */
static enum err open_at_use(struct run *r, struct error *e)
{
	enum err kind = mount_unused(r, e);

	while (!kind) {
		struct error why = { 0 };

		kind = mount_wait(r->mount, r->call.cancel, e);
		if (kind || !open_sandbox(r, &why))
			break;
		log_error(LOG_TOOLS, "%s", why.text);
		mount_refuse(r->mount, why.kind);
		end_reuse(r);
		r->made_id[0] = 0;
	}
	if (kind)
		mount_free(take(r->mount));
	return kind;
}

/* The mount was never used: that is no failure. */
static bool is_unused(const struct run *r, enum err kind)
{
	return r->is_announced && !r->provider && (kind == ERR_GONE || kind == ERR_INTERRUPTED);
}

/* ---- The program ---- */

/* In the foreground or in the daemon. */
static enum err run(const struct config *config, const struct source *source,
	const struct setup *setup, const char *mountpoint, struct daemon *daemon, struct error *e)
{
	struct run r = { .config = config,
		.source = source,
		.setup = setup,
		.mountpoint = mountpoint,
		.daemon = daemon,
		.reuse_lock = -1,
		.watcher = WATCHER_NONE };
	enum err kind = signals_new(&r.signals, e);

	if (kind)
		return kind;
	r.call = (struct call){ .progress_ms = config->progress_ms,
		.ready_ms = config->ready_ms,
		.cancel = signals_cancel(r.signals) };
	if (config->fake) {
		kind = try_sandbox(&r, e);
		provider_release(r.provider);
		signals_free(r.signals);
		return kind;
	}
	if (config->audit)
		kind = audit_new(&r.audit, config->audit, e);
	if (!kind)
		kind = config->lazy ? open_at_use(&r, e) : open_sandbox(&r, e);
	if (is_unused(&r, kind))
		kind = ERR_OK;
	else if (!kind) {
		signals_reopen(r.signals, r.audit);
		kind = mount_sandbox(&r, e);
		signals_reopen(r.signals, NULL);
		close_sandbox(&r);
		mount_free(r.mount);
	}
	audit_free(r.audit);
	end_reuse(&r);
	watcher_release(&r.watcher);
	signals_free(r.signals);
	return kind;
}

static enum exits run_or_explain(const struct config *config, const struct source *source,
	const struct setup *setup, const char *mountpoint, struct daemon *daemon)
{
	struct error e = { 0 };
	enum err kind = run(config, source, setup, mountpoint, daemon, &e);

	if (kind) {
		daemon_failed(daemon, &e);
		if (daemon->fd >= 0)
			log_error(LOG_TOOLS, "%s", e.text);
	}
	return exits_for(kind);
}

static enum err check_workdir(
	const struct config *config, const struct source *source, struct error *e)
{
	if (!config->workdir || !source->path)
		return ERR_OK;
	return error_set(e, ERR_INVALID,
		"option 'workdir=': '%.150s' has a path already; leave one of the two out",
		config->source);
}

/*
 * All checks that can fail before the fork. Words may name a descriptor of the caller (the file of
 * -N, a key_file or a setup script of /dev/fd), so those are closed after the checks.
 */
static enum err prepare(struct config *config, struct source *source, struct setup *setup,
	char **mountpoint, struct error *e)
{
	bool to_syslog = !config->foreground && !config->debug && !config->fake;
	enum err kind = source_parse(source, config->source, e);

	if (!kind)
		kind = check_workdir(config, source, e);
	if (!kind && config->reuse && config->setup.keep_failed)
		kind = error_set(e, ERR_INVALID,
			"options 'reuse' and 'keep_failed': the next one would take a sandbox "
			"whose "
			"script failed; leave one of the two out");
	if (!kind && config->lazy && config->setup.keep_failed)
		kind = error_set(e, ERR_INVALID,
			"options 'lazy' and 'keep_failed': each use would keep one more sandbox "
			"whose script failed; leave one of the two out");
	if (!kind && config->lazy && source->id)
		kind = error_set(e, ERR_INVALID,
			"option 'lazy': %s:%s has an ID; leave one of the two out",
			source->ops->name, source->id);
	if (!kind)
		kind = account_insecure_use(config->insecure_http, e);
	if (!kind)
		kind = account_headers_use(source->ops, (const char *const *)config->headers, e);
	if (!kind)
		kind = account_url_use(source->ops, source->id, config->url, e);
	if (!kind && config->namespace)
		kind = namespace_enter(config->namespace, e);
	if (!kind)
		kind = log_setup("sandboxfs", config_log_spec(config), false, e);
	if (!kind)
		kind = preflight(config, source, mountpoint, e);
	if (!kind && config->setup.path)
		kind = setup_read(setup, &config->setup, e);
	inherited_close();
	if (!kind && to_syslog)
		kind = log_setup("sandboxfs", config_log_spec(config), true, e);
	return kind;
}

static enum exits complain(const struct error *e)
{
	say(stderr, "sandboxfs: %s", e->text);
	return exits_for(e->kind);
}

/*
 * Large blocks, such as sent data and read-ahead, go back to the system when they are freed.
 * Otherwise the first of them would make glibc keep later ones, up to 32 MiB in the heap of each
 * thread.
 */
static void give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

int main(int argc, char **argv)
{
	AUTO_CONFIG struct config config = { 0 };
	AUTO_SOURCE struct source source = { 0 };
	AUTO_SETUP struct setup setup = { 0 };
	AUTO_FREE char *mountpoint = NULL;
	struct daemon daemon = DAEMON_FOREGROUND;
	struct error e = { 0 };

	inherited_reset();
	if (config_parse(&config, argc, argv, &e))
		return complain(&e);
	if (config.help)
		config_print_help(stdout);
	else if (config.version)
		say(stdout, "sandboxfs " SANDBOXFS_VERSION);
	if (config.help || config.version)
		return fflush(stdout) ? EXITS_USAGE : EXITS_OK;
	secrecy_begin(config.debug);
	if (prepare(&config, &source, &setup, &mountpoint, &e))
		return complain(&e);
	if (!config.foreground && !config.debug && !config.fake && daemon_split(&daemon, &e))
		return complain(&e);
	if (daemon_is_parent(&daemon))
		return daemon_wait(&daemon, mountpoint);
	setup_tell(&setup, "sandboxfs");
	give_memory_back();
	return run_or_explain(&config, &source, &setup, mountpoint, &daemon);
}
