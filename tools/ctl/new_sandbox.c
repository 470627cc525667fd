#include "tools/ctl/new_sandbox.h"

#include "providers/base/cleanup.h"
#include "tools/build_news.h"
#include "tools/creation_options.h"
#include "tools/reuse.h"
#include "tools/say.h"
#include "tools/workdir.h"

#include <stdio.h>
#include <string.h>

/* ---- The words ---- */

enum key {
	KEY_SETUP = 0x3000,
	KEY_SETUP_TIMEOUT,
	KEY_SETUP_ENV,
	KEY_KEEP_FAILED,
	KEY_WORKDIR,
	KEY_SESSION,
	KEY_GIT,
	KEY_GIT_TOKEN,
	KEY_ENV_FILE,
	KEY_CREATION = 0x10000
};

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
#define AT(field) offsetof(struct new_sandbox, field)

static const struct argp_option options[] = {
	CREATION_OPTIONS(OPTION, OPTION),
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
		"run this script in it once, by bash where its first line names no interpreter; "
		"when that fails the sandbox is deleted. $NAME in it becomes what NAME is here, in "
		"the environment or in a file .env beside the script; not where the script gives "
		"NAME a value, nor HOME, PATH and their like",
		0 },
	{ "setup-timeout", KEY_SETUP_TIMEOUT, "SECONDS", 0,
		"how long the script may take (300); 0: as long as it likes", 0 },
	{ "setup-env", KEY_SETUP_ENV, "NAME,...|none", 0,
		"exactly these names become what they are here; none: the script goes as it is",
		0 },
	{ "workdir", KEY_WORKDIR, "DIRECTORY", 0,
		"make this directory in it, where it is missing: the one that is shown, and where "
		"commands and the script run",
		0 },
	{ "git", KEY_GIT, "URL[#REF]", 0,
		"clone this repository in it, before the script runs: into --workdir or --session, "
		"else into a directory of the repository's name",
		0 },
	{ "git-token-file", KEY_GIT_TOKEN, "FILE", 0,
		"the token that --git needs, in a file of mode 0600: it stands neither in the "
		"clone nor in a list of processes",
		0 },
	{ "session", KEY_SESSION, "NAME", 0,
		"a directory of its own for one conversation, in the working directory that the "
		"sandbox has: the same as --workdir NAME",
		0 },
	{ "keep-failed", KEY_KEEP_FAILED, NULL, 0, "keep the sandbox when its script fails", 0 },
	{ 0 },
};

static const struct ctl_value values[] = {
	CREATION_OPTIONS(VALUE, FLAG),
	{ 't', "--timeout=", "SECONDS", option_set_seconds, AT(creation.lifetime_ms) },
	{ KEY_SETUP, "--setup=", "SCRIPT", option_set_text, AT(setup.path) },
	{ KEY_SETUP_TIMEOUT, "--setup-timeout=", "SECONDS", option_set_seconds,
		AT(setup.timeout_ms) },
	{ KEY_SETUP_ENV, "--setup-env=", "NAME,...|none", option_set_text, AT(setup.names) },
	{ KEY_WORKDIR, "--workdir=", "DIRECTORY", option_set_path, AT(workdir) },
	{ KEY_GIT, "--git=", "URL[#REF]", option_set_text, AT(git.url) },
	{ KEY_GIT_TOKEN, "--git-token-file=", "FILE", option_set_text, AT(git.token_file) },
	{ KEY_KEEP_FAILED, "--keep-failed", NULL, option_set_flag, AT(setup.keep_failed) },
	{ 0 },
};

/* "NAME=value", or a NAME that is set here. */
static enum err add_variable(
	const char *option, const char *word, struct new_sandbox *m, struct error *e)
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

static enum err add_line(char *line, struct new_sandbox *m, struct error *e)
{
	line[strcspn(line, "\r\n")] = 0;
	line += strspn(line, " \t");
	return *line && *line != '#' ? add_variable("--env-file: ", line, m, e) : ERR_OK;
}

static enum err read_variables(const char *path, struct new_sandbox *m, struct error *e)
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

static enum err set_session(const char *name, struct new_sandbox *m, struct error *e)
{
	const struct opt row = { .name = "--session=", .argument = "NAME" };

	if (*name == '.' || *name == '-' || strchr(name, '/'))
		return error_set(e, ERR_INVALID,
			"option '--session=%.60s': a name without '/', as in chat_123", name);
	return option_set_path(&row, name, &m->workdir, e);
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct new_sandbox *m = state->input;
	struct error why = { 0 };

	if (key == 'e')
		add_variable("--env=", value, m, &why);
	else if (key == KEY_SESSION)
		set_session(value, m, &why);
	else if (key == KEY_ENV_FILE)
		read_variables(value, m, &why);
	else
		return ctl_take_value(values, key, value, state);
	return why.kind ? ctl_usage(state, "%s", why.text) : 0;
}

const struct argp new_sandbox_argp = { .options = options, .parser = take_word };

void new_sandbox_release(struct new_sandbox *m)
{
	creation_release(&m->creation);
	setup_request_release(&m->setup);
	git_request_release(&m->git);
	free(m->workdir);
}

/* ---- The sandbox ---- */

/* A sandbox that was only found: the request shows whether it answers. */
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
	struct build_news news;
	char id[128];
	enum err kind;

	build_news_begin(&news);
	t->config.build_log = &news.log;
	kind = provider_create(t->source.ops, &t->config, &t->call, id, e);
	t->config.build_log = NULL;
	build_news_end(&news, kind);
	if (kind)
		return kind;
	t->source.id = strdup(id);
	if (!t->source.id)
		return error_set(e, ERR_NO_MEMORY, "%s:%s was made", t->source.ops->name, id);
	t->config.id = t->source.id;
	return check_found(t, e);
}

/* From now on the source names the directory. */
static enum err make_workdir(const struct new_sandbox *m, struct target *t, struct error *e)
{
	enum err kind = workdir_make(t->source.ops, &t->config, &t->call, m->workdir, e);

	if (kind)
		return kind;
	t->source.path = strdup(m->workdir);
	t->config.path = t->source.path;
	return t->source.path ? ERR_OK : error_set(e, ERR_NO_MEMORY, "%s", m->workdir);
}

/* Adds to the error of a failed script what happens to the sandbox. */
static enum err end_failed(
	const struct setup *s, const struct target *t, enum err kind, struct error *e)
{
	struct error why = *e;

	if (s->request->keep_failed && kind != ERR_INTERRUPTED)
		return error_set(
			e, kind, "%s; %s:%s is kept", why.text, t->source.ops->name, t->source.id);
	if (!new_sandbox_undo(t))
		return kind;
	return error_set(e, kind, "%s; the sandbox was deleted (--keep-failed keeps it)", why.text);
}

static enum err make(const struct new_sandbox *m, const struct setup *s, struct target *t,
	struct guard *guard, struct error *e)
{
	enum err kind = create(t, e);

	if (kind)
		return kind;
	kind = guard_start(guard, t, e);
	if (!kind && m->workdir)
		kind = make_workdir(m, t, e);
	if (!kind && m->git.url)
		kind = git_clone(&m->git, t->source.ops, &t->config, &t->call, m->workdir, e);
	if (kind)
		new_sandbox_undo(t);
	else if (s->request && (kind = setup_run(s, t->source.ops, &t->config, &t->call, e)))
		kind = end_failed(s, t, kind, e);
	if (kind)
		guard_end(guard);
	return kind;
}

/* A sandbox that was found is not deleted. */
static enum err adopt(
	const struct new_sandbox *m, const char *id, struct target *t, struct error *e)
{
	t->source.id = strdup(id);
	t->config.id = t->source.id;
	if (!t->source.id)
		return error_set(e, ERR_NO_MEMORY, "%s", id);
	return m->workdir ? make_workdir(m, t, e) : ERR_OK;
}

enum err new_sandbox_do(const struct new_sandbox *m, const char *provider,
	const struct ctl_common *common, struct target *t, struct guard *guard, struct error *e)
{
	AUTO_SETUP struct setup setup = { 0 };
	AUTO_CLOSE int lock = -1;
	char id[128] = "";
	enum err kind = target_parse_provider(t, provider, common, e);

	if (!kind)
		kind = git_request_check(&m->git, e);
	if (!kind && m->setup.path)
		kind = setup_read(&setup, &m->setup, e);
	if (kind)
		return kind;
	creation_ask(&m->creation, &t->config);
	if (m->reuse)
		kind = reuse_begin(&lock, t->source.ops, &t->config, &t->call, id, e);
	if (kind || *id)
		return kind ? kind : adopt(m, id, t, e);
	setup_tell(&setup, "sandboxctl");
	return make(m, &setup, t, guard, e);
}

bool new_sandbox_undo(const struct target *t)
{
	const struct call call = { .progress_ms = t->call.progress_ms };
	struct error why = { 0 };

	if (t->source.ops->caps & PROVIDER_SINGLE)
		return false;
	if (!provider_delete(t->source.ops, &t->config, &call, &why))
		return true;
	say(stderr, "sandboxctl: %s:%s is left behind: %s", t->source.ops->name, t->source.id,
		why.text);
	return false;
}
