/*
 * sandboxctl - operations on sandboxes other than mounting: a command each, in ctl/.
 *
 *     sandboxctl COMMAND [options] ARGUMENTS
 */
#include "providers/base/cleanup.h"
#include "providers/base/inherited.h"
#include "providers/base/log.h"
#include "tools/ctl/command.h"
#include "tools/ctl/complete.h"
#include "tools/say.h"
#include "tools/spelling.h"

#include <stdio.h>
#include <string.h>

static enum err unknown(const char *name, struct error *e)
{
	const struct ctl_command *command, *nearest = NULL;
	size_t best = strlen(name) / 2 + 1;

	for (size_t i = 0; (command = ctl_at(i)); i++) {
		size_t distance = spelling_distance(
			name, strnlen(name, SPELLING_MAX), command->name, strlen(command->name));

		if (distance < best) {
			best = distance;
			nearest = command;
		}
	}
	return error_set(e, ERR_INVALID, "'%.60s': no such command;%s%s%s see sandboxctl --help",
		name, nearest ? " did you mean '" : "", nearest ? nearest->name : "",
		nearest ? "'?" : "");
}

static enum err run_command(struct ctl_run *run, struct error *e)
{
	AUTO_FREE char *name = NULL;
	int signal = 0;
	enum err kind = ERR_OK;

	if (asprintf(&name, "sandboxctl %s", run->command->name) < 0) {
		name = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", run->command->name);
	}
	run->argv[0] = name; /* for --help */
	if (!(run->command->flags & CTL_OWN_SIGNALS))
		kind = signals_new(&run->signals, e);
	if (!kind)
		kind = run->command->run(run, e);
	if (run->signals)
		signal = signals_taken(run->signals);
	signals_free(run->signals);
	if (kind == ERR_INTERRUPTED && signal)
		signals_die(signal);
	return kind;
}

static enum ctl_exits complain(const struct error *e, enum ctl_exits status)
{
	say(stderr, "sandboxctl: %s", e->text);
	return status;
}

static int run_words(int argc, char **argv, mode_t file_mask)
{
	struct ctl_run run = {
		.command = ctl_find(argv[0]), .argc = argc, .argv = argv, .file_mask = file_mask
	};
	struct error e = { 0 };

	if (!run.command) {
		unknown(argv[0], &e);
		return complain(&e, CTL_WRONG_USAGE);
	}
	if (log_setup("sandboxctl", getenv("SANDBOXFS_LOG"), false, &e))
		return complain(&e, CTL_WRONG_USAGE);
	if (run_command(&run, &e))
		return complain(&e, run.status ? run.status : CTL_FAILED);
	return run.status;
}

/* "help", "help COMMAND", as in other tools. */
static int run_help(int argc, char **argv, mode_t file_mask)
{
	char option[] = "--help";
	char *words[] = { argv[1], option, NULL };

	if (argc > 1)
		return run_words(2, words, file_mask);
	ctl_print_help();
	return CTL_OK;
}

int main(int argc, char **argv)
{
	mode_t file_mask = inherited_reset();
	const char *word = argc > 1 ? argv[1] : "";
	int status = CTL_OK;

	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		ctl_print_help();
	} else if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		say(stdout, "sandboxctl " SANDBOXFS_VERSION);
	} else if (!strcmp(word, "--complete")) {
		complete(argc - 2, argv + 2, stdout);
	} else if (!strcmp(word, "help")) {
		status = run_help(argc - 1, argv + 1, file_mask);
	} else if (argc < 2) {
		say(stderr, "sandboxctl: the command is missing; see sandboxctl --help");
		status = CTL_WRONG_USAGE;
	} else {
		status = run_words(argc - 1, argv + 1, file_mask);
	}
	return fflush(stdout) && !status ? CTL_FAILED : status;
}
