/*
 * snapshot.c - sandboxctl snapshot: keeps the state of a sandbox, from which others are made.
 */
#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "tools/ctl/command.h"
#include "tools/ctl/output.h"
#include "tools/ctl/target.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

/* Room for some 100,000 snapshots. */
#define LIST_MAX ((size_t)64 * 1024 * 1024)

enum key { KEY_LIST = 'l', KEY_DELETE = 'd' };

struct snapshot_options {
	bool lists, deletes; /* --list, --delete */
	char **words;        /* ended by NULL */
};

/* ---- A new one ---- */

static enum err tell(const struct target *t, const char *id, bool is_json, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(8 * SNAPSHOT_ID_SIZE);
	struct json_writer w = { .out = &json };

	if (!is_json)
		return say(stdout, "%s", id) && !fflush(stdout)
			? ERR_OK
			: error_errno(e, errno, "standard output");
	json_put_open(&w, NULL);
	json_put_text(&w, "provider", t->source.ops->name);
	json_put_text(&w, "snapshot", id);
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

static enum err make(
	const char *word, const char *name, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	char id[SNAPSHOT_ID_SIZE];
	enum err kind = target_parse(&t, word, common, e);

	if (!kind)
		kind = target_reach_account(&t, e);
	if (!kind)
		kind = provider_snapshot(t.provider, &t.call, name, id, e);
	return kind ? target_explain(&t, kind, e) : tell(&t, id, common->json, e);
}

/* ---- All snapshots ---- */

struct listing {
	struct table table;
	struct json_writer writer;
	bool is_json;
};

static enum err add(void *context, const char *id, const char *name, struct error *e)
{
	struct listing *l = context;

	(void)e;
	if (!l->is_json) {
		table_add(&l->table, (const char *const[]){ id, *name ? name : "-", NULL });
		return ERR_OK;
	}
	json_put_open(&l->writer, NULL);
	json_put_text(&l->writer, "snapshot", id);
	if (*name)
		json_put_text(&l->writer, "name", name);
	json_put_close(&l->writer);
	return ERR_OK;
}

static enum err list(const char *provider, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	AUTO_BUF struct buf json = BUF_INIT(LIST_MAX);
	struct listing l = { .writer = { .out = &json }, .is_json = common->json };
	enum err kind = target_parse_provider(&t, provider, common, e);

	if (kind)
		return kind;
	table_init(&l.table, (const char *const[]){ "SNAPSHOT", "NAME", NULL });
	json_put_open_list(&l.writer, NULL);
	kind = provider_list_snapshots(t.source.ops, &t.config, &t.call, add, &l, e);
	json_put_close_list(&l.writer);
	if (!kind)
		kind = l.is_json ? print_json(&json, stdout, e) : table_print(&l.table, stdout, e);
	table_release(&l.table);
	return kind;
}

/* A vendor's ID may contain colons: everything behind the first one. */
static enum err delete_one(const char *word, const struct ctl_common *common, struct error *e)
{
	AUTO_FREE char *provider = strndup(word, strcspn(word, ":"));
	const char *id = strchr(word, ':');
	AUTO_TARGET struct target t = { 0 };
	enum err kind;

	if (!id || !id[1])
		return error_set(e, ERR_INVALID,
			"'%.60s': a provider and a snapshot are needed, as sandboxctl snapshot "
			"--list shows them",
			word);
	if (!provider)
		return error_set(e, ERR_NO_MEMORY, "%.60s", word);
	kind = target_parse_provider(&t, provider, common, e);
	return kind ? kind : provider_delete_snapshot(t.source.ops, &t.config, &t.call, id + 1, e);
}

static enum err delete_all(char **words, const struct ctl_common *common, struct error *e)
{
	enum err failure = ERR_OK;

	for (; *words && failure != ERR_INTERRUPTED; words++) {
		struct error why = { 0 };
		enum err kind = delete_one(*words, common, &why);

		if (kind && failure)
			say(stderr, "sandboxctl: %s", e->text);
		if (kind)
			failure = error_set(e, kind, "%s", why.text);
	}
	return failure;
}

/* ---- The command ---- */

static size_t count_of(char **words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static error_t check(const struct snapshot_options *r, const struct argp_state *state)
{
	size_t max = r->deletes ? SIZE_MAX : r->lists ? 1 : 2;

	if (r->lists && r->deletes)
		return ctl_usage(state, "options '--list' and '--delete': one of the two");
	if (!r->words)
		return ctl_usage(state,
			r->lists ? "the provider is missing, as in %s --list e2b"
				 : "the sandbox is missing, as in %s e2b:ID",
			state->argv[0]);
	if (count_of(r->words) > max)
		return ctl_usage(state, "'%.60s': one word too many; see %s --help", r->words[max],
			state->argv[0]);
	return 0;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct snapshot_options *r = state->input;

	(void)value;
	switch (key) {
	case KEY_LIST: r->lists = true; return 0;
	case KEY_DELETE: r->deletes = true; return 0;
	case ARGP_KEY_ARGS: r->words = state->argv + state->next; return 0;
	case ARGP_KEY_END: return check(r, state);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct snapshot_options r = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (kind)
		return kind;
	if (r.lists)
		return list(r.words[0], &common, e);
	return r.deletes ? delete_all(r.words, &common, e)
			 : make(r.words[0], r.words[1], &common, e);
}

const struct ctl_command ctl_snapshot = {
	.name = "snapshot",
	.arguments = "PROVIDER:ID [NAME]",
	.summary = "Keep the state of a sandbox, to make others from it",
	.details = "What is printed is what create takes for --template, of containers for "
		   "--image. What a mount has not sent yet is not in it: sandboxctl sync "
		   "sends that.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "list", KEY_LIST, NULL, 0,
						"show the snapshots of the account of PROVIDER, "
						"the one argument",
						0 },
					{ "delete", KEY_DELETE, NULL, 0,
						"delete the snapshots PROVIDER:SNAPSHOT, as many "
						"as are given; one that does not exist is no "
						"failure",
						0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
