/*
 * journal.c - sandboxctl journal: pending changes on this machine: listed, exported, discarded.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/command.h"
#include "tools/ctl/journal_export.h"
#include "tools/ctl/journal_list.h"
#include "tools/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct journal_action {
	const char *verb;
	char **names;
	size_t names_count;
	char *dir;    /* --dir; NULL: the user's */
	char *output; /* --output; NULL: standard output */
	int is_sure;  /* --yes */
};

/* ---- export ---- */

static enum err export_to(const struct journal_found *found, int fd, struct error *e)
{
	struct journal *j = NULL;
	enum err kind = journal_check_left(found, e);

	if (!kind)
		kind = journal_open_left(&j, found->dir, e);
	if (!kind)
		kind = journal_export(j, fd, e);
	journal_close(j);
	return kind;
}

/* An existing file is not overwritten; after a failure no file is left. */
static enum err export_to_file(const struct journal_found *found, const char *path, struct error *e)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(e, errno, "%s", path);

	enum err kind = export_to(found, fd, e);

	if (kind)
		unlink(path);
	return kind;
}

static enum err export_one(
	const struct journal_action *r, const struct journal_found *found, struct error *e)
{
	if (r->output)
		return export_to_file(found, r->output, e);
	if (isatty(STDOUT_FILENO))
		return error_set(e, ERR_INVALID,
			"a terminal shows no archive; use --output=FILE, or a pipe to tar -tv");
	return export_to(found, STDOUT_FILENO, e);
}

/* ---- discard ---- */

static bool is_meant(const struct journal_found *found)
{
	char answer[8] = "";

	say_part(stderr, "Give up the changes in %s, which the sandbox %s does not have? [y/N] ",
		found->name, found->source ? found->source : "of that name");
	return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static enum err discard_one(
	const struct journal_action *r, const struct journal_found *found, struct error *e)
{
	enum err kind = journal_check_left(found, e);

	if (kind)
		return kind;
	if (!r->is_sure && !isatty(STDIN_FILENO))
		return error_set(e, ERR_INVALID,
			"%s: nobody to ask whether its changes may be given up; say --yes",
			found->name);
	if (!r->is_sure && !is_meant(found))
		return error_set(e, ERR_INTERRUPTED, "%s: kept", found->name);
	return journal_discard(found->dir, e);
}

/* ---- The command ---- */

static enum err do_named(
	const struct journal_action *r, const struct journals *journals, struct error *e)
{
	bool exports = !strcmp(r->verb, "export");
	enum err kind = ERR_OK;

	for (size_t n = 0; n < r->names_count && !kind; n++) {
		const struct journal_found *found;

		kind = journals_named(journals, r->names[n], &found, e);
		if (!kind)
			kind = exports ? export_one(r, found, e) : discard_one(r, found, e);
	}
	return kind;
}

static enum err act(const struct journal_action *r, bool as_json, struct error *e)
{
	AUTO_JOURNALS struct journals journals = { 0 };
	enum err kind = journals_find(&journals, r->dir, e);

	if (kind)
		return kind;
	return strcmp(r->verb, "list") ? do_named(r, &journals, e)
				       : journal_list(&journals, as_json, e);
}

static error_t check(const struct journal_action *r, const struct argp_state *state)
{
	bool lists = r->verb && !strcmp(r->verb, "list");

	if (!r->verb || (!lists && strcmp(r->verb, "export") && strcmp(r->verb, "discard")))
		return ctl_usage(state, "list, export or discard, as in %s list", state->argv[0]);
	if (lists && r->names_count)
		return ctl_usage(state, "'%.60s': one word too many; see %s --help", r->names[0],
			state->argv[0]);
	if (!lists && !r->names_count)
		return ctl_usage(state, "the journal is missing; %s list shows those there are",
			state->argv[0]);
	if (!strcmp(r->verb, "export") && r->names_count > 1)
		return ctl_usage(state,
			"'%.60s': one journal an archive, as in %s export JOURNAL -o FILE",
			r->names[1], state->argv[0]);
	return 0;
}

enum key { KEY_DIR = 0x2000, KEY_YES };

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ KEY_DIR, "--dir=", "DIR", option_set_text, offsetof(struct journal_action, dir) },
		{ 'o', "--output=", "FILE", option_set_text,
			offsetof(struct journal_action, output) },
		{ KEY_YES, "--yes", NULL, option_set_flag,
			offsetof(struct journal_action, is_sure) },
		{ 0 },
	};
	struct journal_action *r = state->input;

	switch (key) {
	case ARGP_KEY_ARGS:
		r->verb = state->argv[state->next];
		r->names = state->argv + state->next + 1;
		r->names_count = (size_t)(state->argc - state->next - 1);
		return 0;
	case ARGP_KEY_END: return check(r, state);
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct journal_action request = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	if (!kind)
		kind = act(&request, common.json, e);
	free(request.dir);
	free(request.output);
	return kind;
}

const struct ctl_command ctl_journal = {
	.name = "journal",
	.arguments = "list|export|discard [JOURNAL...]",
	.summary = "List, export or give up changes that sandboxes do not have yet",
	.details = "The next mount of a sandbox sends what its journal has. Where there is none, "
		   "for the sandbox is "
		   "gone, export makes a tar archive of it: new files as they would be, of others "
		   "what was written; "
		   "what was removed, renamed or refused is listed in " JOURNAL_LISTING ".",
	.flags = CTL_JSON,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "output", 'o', "FILE", 0,
						"export to this new file instead of standard "
						"output",
						0 },
					{ "yes", KEY_YES, NULL, 0, "discard without asking", 0 },
					{ "dir", KEY_DIR, "DIRECTORY", 0,
						"where the journals are: what mounts were given as "
						"-o journal=",
						0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
