#include "tools/ctl/making.h"

#include "providers/base/cleanup.h"
#include "tools/ctl/values.h"

#include <stdio.h>
#include <string.h>

/* ---- The words ---- */

enum key {
	KEY_SETUP = 0x3000,
	KEY_SETUP_TIMEOUT,
	KEY_ENV_FILE,
	KEY_BLOCK_NETWORK,
	KEY_CPUS,
	KEY_DISK,
	KEY_GPU,
	KEY_REGION,
	KEY_IDLE,
	KEY_DELETE_AFTER,
	KEY_PORT,
};

static const struct argp_option options[] = {
	{ "template", 'i', "NAME", 0,
		"what it is made from, in the provider's words: a template, a snapshot, an image",
		0 },
	{ "image", 'i', NULL, OPTION_ALIAS, NULL, 0 },
	{ "timeout", 't', "SECONDS", 0,
		"how long it lives, where sandboxes end by themselves; sandboxctl extend gives it "
		"more",
		0 },
	{ "env", 'e', "NAME[=VALUE]", 0,
		"a variable for all programs in it; without a value that which it has here, so "
		"that "
		"nobody sees it in the list of processes; may be repeated",
		0 },
	{ "env-file", KEY_ENV_FILE, "FILE", 0, "the same, a line each; # begins a comment", 0 },
	{ "label", 'l', "KEY=VALUE", 0, "by which list finds it; may be repeated", 0 },
	{ "name", 'n', "NAME", 0, "its name, for people", 0 },
	{ "setup", KEY_SETUP, "SCRIPT", 0,
		"run this script of bash in it once; when that fails the sandbox is deleted. $NAME "
		"in "
		"it becomes what is set here",
		0 },
	{ "setup-timeout", KEY_SETUP_TIMEOUT, "SECONDS", 0,
		"how long the script may take (300); 0: as long as it likes", 0 },
	{ "block-network", KEY_BLOCK_NETWORK, NULL, 0, "its programs reach nothing outside", 0 },
	{ "cpus", KEY_CPUS, "NUMBER", 0, "its processors, as in --cpus 0.5", 0 },
	{ "memory", 'm', "SIZE", 0, "its memory, as in --memory 512M", 0 },
	{ "disk", KEY_DISK, "SIZE", 0, "its disk, as in --disk 10G", 0 },
	{ "gpu", KEY_GPU, "KIND", 0, "its graphics processor, in the provider's words", 0 },
	{ "region", KEY_REGION, "NAME", 0, "where it is made, in the provider's words", 0 },
	{ "idle", KEY_IDLE, "SECONDS", 0, "it ends, or is paused, after so long without use", 0 },
	{ "delete-after", KEY_DELETE_AFTER, "SECONDS", 0,
		"it is deleted when it was stopped for so long", 0 },
	{ "port", KEY_PORT, "PORT", 0,
		"a port that sandboxctl url will be asked for, where the provider must know it "
		"before (Modal); may be repeated",
		0 },
	{ 0 },
};

#define AT(field) offsetof(struct making, field)
static const struct value values[] = {
	{ 'i', "--template=", VALUE_TEXT, AT(creation.template) },
	{ 't', "--timeout=", VALUE_SECONDS, AT(creation.lifetime_ms) },
	{ 'l', "--label=", VALUE_LABEL, AT(creation.labels) },
	{ 'n', "--name=", VALUE_TEXT, AT(creation.name) },
	{ KEY_SETUP, "--setup=", VALUE_TEXT, AT(setup) },
	{ KEY_SETUP_TIMEOUT, "--setup-timeout=", VALUE_SECONDS, AT(setup_timeout_ms) },
	{ KEY_BLOCK_NETWORK, "--block-network", VALUE_FLAG, AT(creation.block_network) },
	{ KEY_CPUS, "--cpus=", VALUE_CPUS, AT(creation.cpus) },
	{ 'm', "--memory=", VALUE_SIZE, AT(creation.memory_mb) },
	{ KEY_DISK, "--disk=", VALUE_SIZE, AT(creation.disk_mb) },
	{ KEY_GPU, "--gpu=", VALUE_TEXT, AT(creation.gpu) },
	{ KEY_REGION, "--region=", VALUE_TEXT, AT(creation.region) },
	{ KEY_IDLE, "--idle=", VALUE_SECONDS, AT(creation.idle_ms) },
	{ KEY_DELETE_AFTER, "--delete-after=", VALUE_SECONDS, AT(creation.delete_after_ms) },
	{ KEY_PORT, "--port=", VALUE_PORT, AT(creation.ports) },
	{ 0 },
};

/* "NAME=value", or a NAME that is set here. */
static enum err add_variable(
	const char *option, const char *word, struct making *m, struct error *e)
{
	const struct value row = { .name = option, .kind = VALUE_VARIABLE };
	const char *here = strchr(word, '=') ? NULL : getenv(word);
	AUTO_FREE char *whole = NULL;

	if (!strchr(word, '=') && !here)
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': that is not set here; give it a value, as in "
			"%sNAME=VALUE",
			option, word, option);
	if (here && asprintf(&whole, "%s=%s", word, here) < 0) {
		whole = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", option);
	}
	return value_set(&row, here ? whole : word, &m->creation.env, e);
}

static enum err add_line(char *line, struct making *m, struct error *e)
{
	line[strcspn(line, "\r\n")] = 0;
	line += strspn(line, " \t");
	return *line && *line != '#' ? add_variable("--env-file: ", line, m, e) : ERR_OK;
}

static enum err read_variables(const char *path, struct making *m, struct error *e)
{
	FILE *file = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	enum err kind = ERR_OK;
	size_t room = 0;

	if (!file)
		return error_errno(e, errno, "--env-file %s", path);
	while (!kind && getline(&line, &room, file) >= 0)
		kind = add_line(line, m, e);
	if (!kind && ferror(file))
		kind = error_errno(e, errno, "--env-file %s", path);
	fclose(file);
	return kind;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct making *m = state->input;
	struct error why = { 0 };

	if (key == 'e')
		add_variable("--env=", value, m, &why);
	else if (key == KEY_ENV_FILE)
		read_variables(value, m, &why);
	else
		return ctl_take_value(values, key, value, state);
	return why.kind ? ctl_usage(state, "%s", why.text) : 0;
}

const struct argp making_argp = { .options = options, .parser = take_word };

void making_release(struct making *m)
{
	creation_release(&m->creation);
	free(m->setup);
}

/* ---- The sandbox ---- */

/* One that was only found: whether it answers is known when it is asked. */
static enum err check_found(struct target *t, struct error *e)
{
	enum err kind;

	if (!(t->source.ops->caps & PROVIDER_SINGLE))
		return ERR_OK;
	kind = target_reach_account(t, e);
	provider_release(t->provider);
	t->provider = NULL;
	t->config.account_only = false;
	return kind;
}

static enum err create(struct target *t, struct error *e)
{
	char id[128];
	enum err kind = provider_create(t->source.ops, &t->config, &t->call, id, e);

	if (kind)
		return kind;
	t->source.id = strdup(id);
	if (!t->source.id)
		return error_set(e, ERR_NO_MEMORY, "%s:%s was made", t->source.ops->name, id);
	t->config.id = t->source.id;
	return check_found(t, e);
}

static enum err set_up(
	const struct making *m, const struct setup *s, struct target *t, struct error *e)
{
	enum err kind = target_connect(t, e);

	if (!kind)
		kind = setup_run(s, t->provider, &t->call, m->setup_timeout_ms, e);
	provider_release(t->provider);
	t->provider = NULL;
	return kind;
}

static enum err make(const struct making *m, const struct setup *s, struct target *t,
	struct guard *guard, struct error *e)
{
	enum err kind = create(t, e);

	if (kind)
		return kind;
	kind = guard_start(guard, t, e);
	if (!kind && s->path)
		kind = set_up(m, s, t, e);
	if (!kind)
		return ERR_OK;
	making_undo(t);
	guard_end(guard);
	return kind;
}

enum err making_do(const struct making *m, const char *provider, const struct ctl_common *common,
	struct target *t, struct guard *guard, struct error *e)
{
	AUTO_SETUP struct setup setup = { 0 };
	enum err kind = target_parse_provider(t, provider, common, e);

	if (!kind && m->setup)
		kind = setup_read(&setup, m->setup, e);
	if (kind)
		return kind;
	creation_ask(&m->creation, &t->config);
	return make(m, &setup, t, guard, e);
}

void making_undo(const struct target *t)
{
	const struct call call = { .progress_ms = t->call.progress_ms };
	struct error why = { 0 };

	if (t->source.ops->caps & PROVIDER_SINGLE ||
		!provider_delete(t->source.ops, &t->config, &call, &why))
		return;
	fprintf(stderr, "sandboxctl: %s:%s is left behind: %s\n", t->source.ops->name, t->source.id,
		why.text);
}
