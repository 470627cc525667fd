#include "tools/ctl/making.h"

#include "providers/base/cleanup.h"
#include "tools/creation_options.h"

#include <stdio.h>
#include <string.h>

/* ---- The words ---- */

enum key { KEY_SETUP = 0x3000, KEY_SETUP_TIMEOUT, KEY_ENV_FILE, KEY_CREATION = 0x10000 };

#define KEY(bit, letter) ((letter) ? (letter) : KEY_CREATION | (int)(bit))
#define OPTION(bit, letter, field, setter, name, word, of, text)                                   \
	{                                                                                          \
		word, KEY(bit, letter), of, 0, text, 0                                             \
	}
#define VALUE(bit, letter, field, setter, name, word, of, text)                                    \
	{                                                                                          \
		KEY(bit, letter), "--" word "=", of, setter, AT(creation.field)                    \
	}
#define FLAG(bit, letter, field, setter, name, word, of, text)                                     \
	{                                                                                          \
		KEY(bit, letter), "--" word, of, setter, AT(creation.field)                        \
	}
#define AT(field) offsetof(struct making, field)

static const struct argp_option options[] = {
	CREATION_OPTIONS(OPTION, OPTION),
	{ "image", 'i', NULL, OPTION_ALIAS, NULL, 0 },
	{ "timeout", 't', "SECONDS", 0,
		"how long it lives, where sandboxes end by themselves; sandboxctl extend gives it "
		"more",
		0 },
	{ "env", 'e', "NAME[=VALUE]", 0,
		"a variable for all programs in it; without a value that which it has here, so "
		"that nobody sees it in the list of processes; may be repeated",
		0 },
	{ "env-file", KEY_ENV_FILE, "FILE", 0,
		"variables, as --env takes them, a line each; # begins a comment", 0 },
	{ "setup", KEY_SETUP, "SCRIPT", 0,
		"run this script of bash in it once; when that fails the sandbox is deleted. $NAME "
		"in it becomes what is set here",
		0 },
	{ "setup-timeout", KEY_SETUP_TIMEOUT, "SECONDS", 0,
		"how long the script may take (300); 0: as long as it likes", 0 },
	{ 0 },
};

static const struct ctl_value values[] = {
	CREATION_OPTIONS(VALUE, FLAG),
	{ 't', "--timeout=", "SECONDS", option_set_seconds, AT(creation.lifetime_ms) },
	{ KEY_SETUP, "--setup=", "SCRIPT", option_set_text, AT(setup) },
	{ KEY_SETUP_TIMEOUT, "--setup-timeout=", "SECONDS", option_set_seconds,
		AT(setup_timeout_ms) },
	{ 0 },
};

/* "NAME=value", or a NAME that is set here. */
static enum err add_variable(
	const char *option, const char *word, struct making *m, struct error *e)
{
	const struct opt row = { .name = option, .argument = "NAME=VALUE" };
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
	return option_set_variable(&row, here ? whole : word, &m->creation.env, e);
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
