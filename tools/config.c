#include "tools/config.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "tools/help.h"
#include "tools/options.h"
#include "tools/spelling.h"
#include "tools/user_map.h"

#include <fuse_opt.h>
#include <pwd.h>
#include <string.h>

/* Each worker waits for a round trip to the sandbox; libfuse's ten starve. */
#define THREADS_DEFAULT         64
#define ATTR_MS_DEFAULT         1000
#define EXEC_TIMEOUT_MS_DEFAULT (1800 * 1000)

/* ---- Unknown options ---- */

/* The length without the '=' or the blank that announces a value. */
static size_t name_len(const char *name)
{
	size_t len = strcspn(name, "= ");

	return len < SPELLING_MAX ? len : SPELLING_MAX;
}

/* NULL: no name has more than half of its letters in common with `word`. */
static const struct opt *nearest(const char *word)
{
	const struct opt *best = NULL;
	size_t word_len = name_len(word), best_distance = (word_len + 1) / 2;

	for (const struct opt *o = options; o < options + options_count; o++) {
		size_t d = spelling_distance(word, word_len, o->name, name_len(o->name));

		if (d < best_distance) {
			best = o;
			best_distance = d;
		}
	}
	return best;
}

static enum err unknown(const char *word, struct error *e)
{
	const struct opt *known = nearest(word);

	if (!known)
		return error_set(e, ERR_INVALID,
			"unknown option '%.60s'; --help lists those there are", word);
	return error_set(e, ERR_INVALID,
		"unknown option '%.60s'; did you mean '%.*s'? --help lists those there are", word,
		(int)name_len(known->name), known->name);
}

/* ---- Parsing ---- */

struct parsing {
	struct config *config;
	enum err kind; /* error of the first wrong word */
	struct error *error;
	bool is_helper; /* called by mount(8) */
};

static bool is_for_fstab(const char *word)
{
	return !strncmp(word, "x-", 2) || !strncmp(word, "X-", 2);
}

/* Whether some provider has the option: the provider of the source is not known yet. */
static bool is_for_client(const char *word)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++)
		if (client_option_find(ops->client_options, word))
			return true;
	return false;
}

static enum err take_other(struct parsing *p, const char *word)
{
	if (is_for_client(word))
		return option_set_word(NULL, word, &p->config->client, p->error);
	if (!*word || is_for_fstab(word) || p->config->sloppy)
		return ERR_OK;
	return unknown(word, p->error);
}

static enum err take_operand(struct parsing *p, const char *word)
{
	char **field = !p->config->source ? &p->config->source : &p->config->mountpoint;

	if (*field)
		return error_set(p->error, ERR_INVALID,
			"'%.60s': one word too many after SOURCE and DIRECTORY; see --help", word);
	*field = strdup(word);
	return *field ? ERR_OK : error_set(p->error, ERR_NO_MEMORY, "options");
}

static enum err take_option(struct parsing *p, const struct opt *o, const char *word)
{
	if (p->is_helper && !strcmp(o->name, "-f")) {
		p->config->fake = 1;
		return ERR_OK;
	}
	return o->set ? o->set(o, word + strlen(o->name) - (o->name[strlen(o->name) - 1] == ' '),
				(char *)p->config + o->offset, p->error)
		      : ERR_OK;
}

/*
 * fuse_opt's callback: `key` is a row's index or says that there is none. Every word ends here:
 * none is passed on.
 */
static int take_word(void *context, const char *word, int key, struct fuse_args *rest)
{
	struct parsing *p = context;

	(void)rest;
	if (key == FUSE_OPT_KEY_NONOPT)
		p->kind = take_operand(p, word);
	else if (key == FUSE_OPT_KEY_OPT)
		p->kind = take_other(p, word);
	else
		p->kind = take_option(p, &options[key], word);
	return p->kind ? -1 : 0;
}

/* fuse_opt would report this in its own words. */
static enum err check_last_word(int argc, char **argv, struct error *e)
{
	const char *last = argc > 1 ? argv[argc - 1] : "";

	if (!strcmp(last, "-o") || !strcmp(last, "-t") || !strcmp(last, "-N"))
		return error_set(e, ERR_INVALID, "option '%s': its value is missing", last);
	return ERR_OK;
}

/* fuse_opt splits the words (-o a,b  -oa  \,  --); the table has their meaning. */
static enum err parse_words(struct parsing *p, int argc, char **argv)
{
	AUTO_FREE struct fuse_opt *templates = calloc(options_count + 1, sizeof *templates);
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);

	if (!templates)
		return error_set(p->error, ERR_NO_MEMORY, "options");
	for (size_t i = 0; i < options_count; i++)
		templates[i] = (struct fuse_opt)FUSE_OPT_KEY(options[i].name, (int)i);

	int failure = fuse_opt_parse(&args, p, templates, take_word);

	fuse_opt_free_args(&args);
	if (failure && !p->kind)
		return error_set(p->error, ERR_NO_MEMORY, "options");
	return p->kind;
}

static enum err check_whole(const struct config *c, struct error *e)
{
	if (c->help || c->version)
		return ERR_OK;
	if (!c->mountpoint)
		return error_set(e, ERR_INVALID,
			"%s is missing: sandboxfs SOURCE DIRECTORY [-o OPTIONS], as in sandboxfs "
			"local:demo /mnt; see --help",
			c->source ? "the directory to mount on" : "the source");
	if (c->allow_other && c->allow_root)
		return error_set(e, ERR_INVALID,
			"options 'allow_other' and 'allow_root': one of them; allow_other includes "
			"root");
	if (c->idmap == IDMAP_NONE && (c->uid >= 0 || c->gid >= 0))
		return error_set(e, ERR_INVALID,
			"option 'idmap=none': leave it out, or leave out uid= and gid=");
	return ERR_OK;
}

/* Before the words, which override it. */
static enum err take_environment(struct config *c, struct error *e)
{
	const char *log = getenv("SANDBOXFS_LOG");

	if (log && *log && !(c->log = strdup(log)))
		return error_set(e, ERR_NO_MEMORY, "environment");
	return ERR_OK;
}

static bool is_mount_helper(const char *program)
{
	return !strncmp(path_name(program), "mount.", 6);
}

enum err config_parse(struct config *out, int argc, char **argv, struct error *e)
{
	struct parsing p = {
		.config = out, .error = e, .is_helper = argc && is_mount_helper(argv[0])
	};
	enum err kind = check_last_word(argc, argv, e);

	*out = (struct config){
		.uid = -1,
		.gid = -1,
		.attr_ms = ATTR_MS_DEFAULT,
		.entry_ms = ATTR_MS_DEFAULT,
		.exec_timeout_ms = EXEC_TIMEOUT_MS_DEFAULT,
		.setup = SETUP_REQUEST_INIT,
		.threads_max = THREADS_DEFAULT,
	};
	if (!kind)
		kind = take_environment(out, e);
	if (!kind)
		kind = parse_words(&p, argc, argv);
	if (!kind)
		kind = check_whole(out, e);
	if (kind)
		config_release(out);
	return kind;
}

static int64_t whole_seconds(int64_t ms)
{
	return (ms + 999) / 1000;
}

void creation_ask(const struct creation *c, struct provider_config *out)
{
	out->template = c->template;
	out->image = c->image;
	out->env = (const char *const *)c->env;
	out->labels = (const char *const *)c->labels;
	out->name = c->name;
	out->cpus = c->cpus;
	out->memory_mb = c->memory_mb;
	out->disk_mb = c->disk_mb;
	out->gpu = c->gpu;
	out->region = c->region;
	out->lifetime_s = whole_seconds(c->lifetime_ms);
	out->idle_s = whole_seconds(c->idle_ms);
	out->archive_after_s = whole_seconds(c->archive_after_ms);
	out->language = c->language;
	out->delete_after_s = whole_seconds(c->delete_after_ms);
	out->pids = c->pids;
	out->network = (enum network)c->network;
	out->block_network = c->block_network;
	out->allowed = (const char *const *)c->allowed;
	out->ports = c->ports;
}

void creation_release(struct creation *c)
{
	free(c->template);
	free(c->image);
	free(c->name);
	free(c->gpu);
	free(c->region);
	free(c->language);
	option_list_free(c->env);
	option_list_free(c->labels);
	option_list_free(c->allowed);
	free(c->ports);
}

void config_release(struct config *c)
{
	free(c->source);
	free(c->mountpoint);
	free(c->namespace);
	free(c->log);
	free(c->user);
	free(c->key_file);
	free(c->url);
	option_list_free(c->headers);
	free(c->app);
	option_list_free(c->client);
	creation_release(&c->creation);
	setup_request_release(&c->setup);
	free(c->workdir);
	free(c->exec_shell);
	free(c->audit);
	free(c->journal);
	free(c->cache);
	*c = (struct config){ 0 };
}

/* ---- Help ---- */

void config_print_help(FILE *to)
{
	AUTO_BUF struct buf providers = BUF_INIT(1024);

	provider_names(&providers);
	fprintf(to,
		"Usage: sandboxfs SOURCE DIRECTORY [options]\n"
		"Shows a sandbox as a directory. Unmount with: umount DIRECTORY, or fusermount3 -u "
		"DIRECTORY\n\n"
		"SOURCE is PROVIDER:[ID][:PATH]; without an ID a sandbox is made, and deleted at "
		"unmount.\n"
		"Providers:\n    %s\n\n",
		buf_text(&providers));
	help_print_options(to, options, options_count);
	fprintf(to, "\nAccepted and without effect:\n");
	help_print_ignored(to, options, options_count);
	fprintf(to,
		"\nEnvironment: SANDBOXFS_LOG, as -o log=.\n"
		"Exit status: 0; 1 wrong usage or not permitted; 32 the mount failed.\n");
}

/* ---- Values derived from the words ---- */

bool config_maps_owners(const struct config *c, const struct identity *user)
{
	bool is_here = user_map_has_uid(user->uid) && user_map_has_gid(user->gid);

	if (c->idmap == IDMAP_AUTO)
		return geteuid() != 0 || c->uid >= 0 || c->gid >= 0 || !is_here;
	return c->idmap == IDMAP_USER;
}

uid_t config_owner_uid(const struct config *c)
{
	return c->uid >= 0 ? (uid_t)c->uid : getuid();
}

/* uid= alone implies that user's own group. */
gid_t config_owner_gid(const struct config *c)
{
	const struct passwd *user = c->uid >= 0 ? getpwuid((uid_t)c->uid) : NULL;

	if (c->gid >= 0)
		return (gid_t)c->gid;
	return user ? user->pw_gid : getgid();
}

const char *config_log_spec(const struct config *c)
{
	if (c->log)
		return c->log;
	if (c->debug)
		return "debug";
	return c->verbose ? "info" : NULL;
}

char *config_kernel_options(const struct config *c)
{
	AUTO_BUF struct buf text = BUF_INIT(256);

	buf_add_string(&text, "nosuid,nodev");
	buf_add_string(&text, c->read_only ? ",ro" : "");
	buf_add_string(&text, c->noexec ? ",noexec" : "");
	buf_add_string(&text, c->noatime ? ",noatime" : "");
	return text.failed ? NULL : strdup(buf_text(&text));
}
