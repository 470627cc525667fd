/*
 * info.c - sandboxctl info: the facts of one sandbox.
 */
#include "providers/user_shell.h"
#include "tools/ctl/command.h"
#include "tools/ctl/sandboxes.h"
#include "tools/ctl/target.h"
#include "tools/duration_text.h"

#include <string.h>

/* Room for an id, a path and a few words, with escapes. */
#define JSON_MAX 65536

struct info_options {
	const char *word;
	bool looks_inside;
};

/* ---- Output ---- */

/* The next volume of `at`, as of sandbox_info.volumes; NULL: there is none. */
static char *next_volume(char **at, char **path)
{
	char *name = strsep(at, "\n");

	*path = name ? strchr(name, ' ') : NULL;
	if (!*path)
		return NULL;
	*(*path)++ = 0;
	return name;
}

static void add_fact(struct table *t, const char *name, const char *fact)
{
	table_add(t, (const char *const[]){ name, fact });
}

static enum err print_table(const struct target *t, struct sandbox_info *info, struct error *e)
{
	AUTO_TABLE struct table table;
	char source[256], left[DURATION_TEXT_SIZE], user[64], volume[sizeof info->volumes + 4];
	char *volumes = info->volumes, *name, *path;

	table_init(&table, (const char *const[]){ "", "", NULL });
	snprintf(source, sizeof source, "%s:%s", t->source.ops->name, info->id);
	duration_text(info->expires_s, left);
	add_fact(&table, "sandbox", source);
	add_fact(&table, "provider", t->source.ops->title);
	add_fact(&table, "state", sandbox_state_word(info->state));
	add_fact(&table, "life left", left);
	if (*info->warning)
		add_fact(&table, "warning", info->warning);
	if (*info->limits)
		add_fact(&table, "limits", info->limits);
	while ((name = next_volume(&volumes, &path))) {
		snprintf(volume, sizeof volume, "%s on %s", name, path);
		add_fact(&table, "volume", volume);
	}
	if (!t->config.account_only) {
		add_fact(&table, "directory", info->root);
		if (t->provider->no_helper) {
			add_fact(&table, "helper", t->provider->no_helper);
		} else {
			snprintf(user, sizeof user, "uid %u, gid %u", info->identity.uid,
				info->identity.gid);
			add_fact(&table, "user", user);
		}
		add_fact(&table, "shell", user_shell_auto(t->source.ops->caps));
		if (*info->note)
			add_fact(&table, "repaired", info->note);
	}
	return table_print(&table, stdout, e);
}

/* The helper reports the user in the sandbox. */
static void put_inside(
	struct json_writer *w, const struct target *t, const struct sandbox_info *info)
{
	const char *no_helper = t->provider->no_helper;

	json_put_text(w, "directory", info->root);
	if (no_helper) {
		json_put_text(w, "no_helper", no_helper);
	} else {
		json_put_integer(w, "uid", info->identity.uid);
		json_put_integer(w, "gid", info->identity.gid);
	}
	json_put_text(w, "shell", user_shell_auto(t->source.ops->caps));
}

/* A volume may be shown as a mount's root: PROVIDER:ID:PATH. */
static void put_volumes(struct json_writer *w, char *volumes)
{
	char *name, *path;

	json_put_open_list(w, "volumes");
	while ((name = next_volume(&volumes, &path))) {
		json_put_open(w, NULL);
		json_put_text(w, "name", name);
		json_put_text(w, "path", path);
		json_put_close(w);
	}
	json_put_close_list(w);
}

static enum err print_object(const struct target *t, struct sandbox_info *info, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(JSON_MAX);
	struct json_writer w = { .out = &json };

	json_put_open(&w, NULL);
	sandboxes_put(&w, t->source.ops->name,
		&(struct sandbox_entry){
			.id = info->id, .state = info->state, .expires_s = info->expires_s });
	if (*info->warning)
		json_put_text(&w, "warning", info->warning);
	if (*info->limits)
		json_put_text(&w, "limits", info->limits);
	if (*info->volumes)
		put_volumes(&w, info->volumes);
	if (!t->config.account_only)
		put_inside(&w, t, info);
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

/* ---- The command ---- */

static enum err tell(const struct info_options *r, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	struct sandbox_info info;
	enum err kind = target_parse(&t, r->word, common, e);

	if (kind)
		return kind;
	t.config.resume = RESUME_NEVER;
	kind = r->looks_inside ? target_connect(&t, e) : target_reach_account(&t, e);
	if (!kind)
		kind = provider_info(t.provider, &t.call, &info, e);
	if (kind)
		return target_explain(&t, kind, e);
	return common->json ? print_object(&t, &info, e) : print_table(&t, &info, e);
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct info_options *r = state->input;

	switch (key) {
	case 'i': r->looks_inside = true; return 0;
	case ARGP_KEY_ARG:
		if (r->word)
			return ARGP_ERR_UNKNOWN;
		r->word = value;
		return 0;
	case ARGP_KEY_NO_ARGS:
		return ctl_usage(
			state, "the sandbox is missing, as in %s local:demo", state->argv[0]);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct info_options request = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	return kind ? kind : tell(&request, &common, e);
}

const struct ctl_command ctl_info = {
	.name = "info",
	.arguments = "PROVIDER:ID",
	.summary = "Tell what there is to know of a sandbox",
	.details = "A paused sandbox stays paused.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "inside", 'i', NULL, 0,
						"also what is known in the sandbox alone, which "
						"must run: directory, user, shell",
						0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
