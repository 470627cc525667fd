#include "providers/provider_inside.h"

#include <string.h>

/* The options, by their names in mounts. */
static const struct {
	unsigned option;
	const char *name;
} names[] = {
	{ OPTION_TEMPLATE, "template=" },
	{ OPTION_IMAGE, "image=" },
	{ OPTION_ENV, "env=" },
	{ OPTION_LABELS, "label=" },
	{ OPTION_NAME, "name=" },
	{ OPTION_CPUS, "cpus=" },
	{ OPTION_MEMORY, "memory=" },
	{ OPTION_DISK, "disk=" },
	{ OPTION_GPU, "gpu=" },
	{ OPTION_REGION, "region=" },
	{ OPTION_IDLE, "idle=" },
	{ OPTION_DELETE_AFTER, "delete_after=" },
	{ OPTION_BLOCK_NETWORK, "block_network" },
	{ OPTION_PORTS, "port=" },
	{ OPTION_ALLOW, "allow=" },
	{ OPTION_ARCHIVE_AFTER, "archive_after=" },
	{ OPTION_LANGUAGE, "language=" },
	{ OPTION_PIDS, "pids=" },
	{ OPTION_NETWORK, "network=" },
	{ OPTION_LIFETIME, "lifetime=" },
	{ OPTION_USER, "user=" },
	{ OPTION_RESUME_NEVER, "resume=never" },
	{ OPTION_APP, "app=" },
};

unsigned provider_options_asked(const struct provider_config *cfg)
{
	return (cfg->template ? OPTION_TEMPLATE : 0) | (cfg->image ? OPTION_IMAGE : 0) |
		(cfg->env ? OPTION_ENV : 0) | (cfg->labels ? OPTION_LABELS : 0) |
		(cfg->name ? OPTION_NAME : 0) | (cfg->cpus > 0 ? OPTION_CPUS : 0) |
		(cfg->memory_mb ? OPTION_MEMORY : 0) | (cfg->disk_mb ? OPTION_DISK : 0) |
		(cfg->gpu ? OPTION_GPU : 0) | (cfg->region ? OPTION_REGION : 0) |
		(cfg->idle_s ? OPTION_IDLE : 0) | (cfg->delete_after_s ? OPTION_DELETE_AFTER : 0) |
		(cfg->block_network ? OPTION_BLOCK_NETWORK : 0) | (cfg->ports ? OPTION_PORTS : 0) |
		(cfg->allowed ? OPTION_ALLOW : 0) |
		(cfg->archive_after_s ? OPTION_ARCHIVE_AFTER : 0) | (cfg->pids ? OPTION_PIDS : 0) |
		(cfg->network ? OPTION_NETWORK : 0) | (cfg->language ? OPTION_LANGUAGE : 0) |
		(cfg->app ? OPTION_APP : 0) | (cfg->lifetime_s ? OPTION_LIFETIME : 0) |
		(cfg->user ? OPTION_USER : 0) |
		(cfg->resume == RESUME_NEVER ? OPTION_RESUME_NEVER : 0);
}

void provider_option_names(unsigned options, struct buf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (options & names[i].option) {
			buf_printf(out, "%s%s", comma, names[i].name);
			comma = ", ";
		}
}

static unsigned first_of(unsigned options)
{
	return options & -options;
}

static const char *mounts_name(unsigned option)
{
	size_t i = 0;

	while (names[i].option != option)
		i++;
	return names[i].name;
}

const char *provider_option_name(const struct provider_config *cfg, unsigned option)
{
	return (cfg->option_name ? cfg->option_name : mounts_name)(option);
}

/* The message names the first refused option; one is enough. */
static enum err refuse(const struct provider_ops *ops, const struct provider_config *cfg,
	const char *whose, unsigned options, struct error *e)
{
	const char *name = provider_option_name(cfg, first_of(options));

	if (first_of(options) == OPTION_PORTS && ops->url)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: every port has a URL, none is opened beforehand; leave '%s' out",
			ops->name, name);
	return error_set(e, ERR_UNSUPPORTED, "%s: %s cannot be given '%s'; leave it out", ops->name,
		whose, name);
}

const struct client_option *client_option_find(const struct client_option *table, const char *word)
{
	for (; table && table->name; table++) {
		size_t len = strlen(table->name);
		bool takes_value = table->name[len - 1] == '=';

		if (!strncmp(word, table->name, len) && (takes_value || !word[len]))
			return table;
	}
	return NULL;
}

static enum err check_client_options(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	for (const char *const *o = cfg->client_options; o && *o; o++) {
		const struct client_option *known = client_option_find(ops->client_options, *o);
		int len = (int)strcspn(*o, "=");

		if (!known)
			return error_set(e, ERR_UNSUPPORTED,
				"%s: its sandboxes cannot be given '%.*s'; leave it out", ops->name,
				len, *o);
		if (known->refused)
			return error_set(
				e, ERR_INVALID, "option '%.*s': %s", len, *o, known->refused);
	}
	return ERR_OK;
}

enum err provider_check_options(const struct provider_ops *ops, const struct provider_config *cfg,
	unsigned options, struct error *e)
{
	unsigned missing = options & ~(ops->create_options | ops->connect_options);

	return missing ? refuse(ops, cfg, "a new sandbox", missing, e) : ERR_OK;
}

enum err provider_check_create(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	enum err kind = provider_check_options(ops, cfg, provider_options_asked(cfg), e);

	if (kind)
		return kind;
	if (cfg->template && cfg->image)
		return error_set(e, ERR_INVALID, "%s: '%s' and '%s': one of them", ops->name,
			provider_option_name(cfg, OPTION_TEMPLATE),
			provider_option_name(cfg, OPTION_IMAGE));
	return check_client_options(ops, cfg, e);
}

/* An option of making may be given again when the sandbox is connected to. */
enum err provider_check_connect(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	unsigned missing = provider_options_asked(cfg) & ~OPTIONS_OF_MAKING &
		~(ops->create_options | ops->connect_options);

	return missing ? refuse(ops, cfg, "its sandboxes", missing, e)
		       : check_client_options(ops, cfg, e);
}
