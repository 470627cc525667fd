/*
 * run.c - sandboxctl run: a command in the sandbox of the mount that contains the working
 * directory.
 *
 * The command runs over a connection of its own, so that its output comes as it is printed. Before
 * it the mount sends its pending changes, after it the mount revalidates its cache: the command
 * finds the files written here, and its own files are found here.
 */
#include "providers/base/cleanup.h"
#include "tools/apart.h"
#include "tools/ctl/command.h"
#include "tools/ctl/foreground.h"
#include "tools/ctl/mounts.h"
#include "tools/ctl/target.h"
#include "tools/say.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case ARGP_KEY_ARG: return command_line_take_words(line, state);
	case ARGP_KEY_NO_ARGS:
		if (!command_line_is_empty(line))
			return 0;
		return ctl_usage(state, "the command is missing, as in %s -- make", state->argv[0]);
	default: return command_line_take(key, value, state);
	}
}

/* As in the mount table: our working directory, below the mount's own. */
static const char *below(const struct mounted *m, const char *here)
{
	const char *rest = here + strlen(m->dir);

	return rest + strspn(rest, "/");
}

static enum err read_id(const struct mounted *m, char id[128], struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	ssize_t len;

	/* Looking into the mount is a use: after that there is a sandbox. */
	if (asprintf(&path, "%s/.sandbox/id", m->dir) < 0)
		return error_errno(e, errno, "%s", m->dir);
	fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(take_fd(&fd));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, id, 127);
	if (len <= 0)
		return error_errno(e, errno, "%s: which sandbox it shows", m->dir);
	id[len] = 0;
	id[strcspn(id, "\n")] = 0;
	return ERR_OK;
}

/* A mount whose sandbox is made at its first use has no ID in the mount table. */
static enum err source_of(const struct mounted *m, char **out, struct error *e)
{
	AUTO_SOURCE struct source source = { 0 };
	char id[128] = "";
	enum err kind = source_parse(&source, m->source, e);

	if (!kind && !source.id)
		kind = read_id(m, id, e);
	if (kind)
		return kind;
	*out = source.id ? strdup(m->source) : source_text(&source, id);
	return *out ? ERR_OK : error_set(e, ERR_NO_MEMORY, "%s", m->dir);
}

static enum err execute(const struct mounted *m, const char *cwd, const struct command_line *line,
	const struct ctl_common *common, int *status, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	AUTO_FREE char *source = NULL;
	enum err kind = source_of(m, &source, e);

	if (!kind)
		kind = target_open(&t, source, common, e);
	return kind ? kind : foreground_run(t.provider, &t.call, line, cwd, status, e);
}

/* The command has run by then: a failed check is not its failure. */
static void check_again(const struct mounted *m)
{
	struct error e = { 0 };

	if (mounts_sync(m, APART_NO_LIMIT, &e))
		say(stderr, "sandboxctl: %s", e.text);
}

static enum err run_inside(const struct command_line *line, const struct ctl_common *common,
	const struct signals *signals, int *status, struct error *e)
{
	AUTO_MOUNTS struct mounts mounts = { 0 };
	AUTO_FREE char *here = getcwd(NULL, 0);
	const struct mounted *m;
	enum err kind = here ? mounts_find(&mounts, e) : error_errno(e, errno, "this directory");

	if (!kind)
		kind = mounts_at(&mounts, here, &m, e);
	if (!kind)
		kind = mounts_sync(m, APART_NO_LIMIT, e);
	if (!kind && signals_taken(signals))
		kind = error_set(e, ERR_INTERRUPTED, "interrupted");
	if (kind)
		return kind;
	kind = execute(m, below(m, here), line, common, status, e);
	check_again(m);
	return kind;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	AUTO_COMMAND_LINE struct command_line line = { 0 };
	struct ctl_common common;
	enum err kind;

	run->status = CTL_BROKEN;
	kind = ctl_parse(run, &line, &common, e);
	line.as_response = common.json;
	if (!kind)
		kind = run_inside(&line, &common, run->signals, &run->status, e);
	return foreground_end(run, kind);
}

const struct ctl_command ctl_run = {
	.name = "run",
	.arguments = "[--] COMMAND [ARGUMENTS...]",
	.summary = "Run a command in the sandbox whose mount this is",
	.details = "In the directory that stands for this one, after everything that was changed "
		   "here; what it "
		   "changes is seen here when it ends. COMMAND, standard input and exit status are "
		   "those of exec, as are --lang and --json; "
		   "the key and the user are not those of the mount: --key-file, --user.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER | CTL_COMMAND_LINE,
	.argp =
		&(const struct argp){
			.options = (const struct argp_option[]){ COMMAND_LINE_OPTIONS, { 0 } },
			.parser = take_word,
		},
	.run = run,
};
