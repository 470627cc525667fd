/*
 * exec.c - sandboxctl exec: a command in a sandbox, as if it ran here.
 */
#include "tools/ctl/command.h"
#include "tools/ctl/foreground.h"
#include "tools/ctl/target.h"

struct exec_options {
	struct command_line line; /* first, for command_line_take() */
	const char *sandbox;
};

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct exec_options *r = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (r->sandbox)
			return command_line_take_words(&r->line, state);
		r->sandbox = value;
		return 0;
	case ARGP_KEY_END:
		if (!r->sandbox)
			return ctl_usage(state, "the sandbox is missing, as in %s local:demo -- ls",
				state->argv[0]);
		if (command_line_is_empty(&r->line))
			return ctl_usage(state, "the command is missing, as in %s %.60s -- ls",
				state->argv[0], r->sandbox);
		return 0;
	default: return command_line_take(key, value, state);
	}
}

static enum err exec(
	const struct exec_options *r, const struct ctl_common *common, int *status, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	enum err kind = target_open(&t, r->sandbox, common, e);

	return kind ? kind : foreground_run(t.provider, &t.call, &r->line, NULL, status, e);
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct exec_options request = { 0 };
	struct ctl_common common;
	enum err kind;

	run->status = CTL_BROKEN;
	kind = ctl_parse(run, &request, &common, e);
	request.line.as_response = common.json;
	if (!kind)
		kind = exec(&request, &common, &run->status, e);
	command_line_release(&request.line);
	return foreground_end(run, kind);
}

const struct ctl_command ctl_exec = {
	.name = "exec",
	.arguments = "PROVIDER:ID[:DIRECTORY] [--] COMMAND [ARGUMENTS...]",
	.summary = "Run a command in a sandbox, as if it ran here",
	.details = "One word behind the sandbox is shell text, as in sandboxctl exec e2b:ID 'make "
		   "&& ./test'; "
		   "several are a program and its arguments, which no shell takes apart.\n\n"
		   "Standard input reaches it as it comes, also of a terminal, line by line; the "
		   "command itself has a pipe. What is typed while it runs is read in any case: "
		   "</dev/null keeps it. Ctrl-C ends the command.\n\n"
		   "--lang runs code: of the first word, a --file or standard input; what follows "
		   "are its arguments. --json prints how it ended as .sandbox/exec does, with "
		   "the output in it.\n\n"
		   "Exit status: the command's; 124 when its time was over, 125 when sandboxctl "
		   "failed.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER | CTL_COMMAND_LINE,
	.argp =
		&(const struct argp){
			.options = (const struct argp_option[]){ COMMAND_LINE_OPTIONS, { 0 } },
			.parser = take_word,
		},
	.run = run,
};
