/*
 * with.c - sandboxctl with: a sandbox for as long as one command runs, which works in it through a
 * mount.
 *
 *     sandboxctl with e2b --setup install.sh -- make test
 *
 * The command runs here, in the directory that shows the sandbox. However the command ends, the
 * mount and the sandbox go as well. Where sandboxctl itself is killed (KILL), the mount ends by
 * itself; then the guard deletes the sandbox and the directory that was made.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/child.h"
#include "tools/ctl/new_sandbox.h"
#include "tools/ctl/mount_here.h"
#include "tools/say.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct with_options {
	struct new_sandbox making;
	const char *provider, *dir;
	char **command; /* ended by NULL */
	char **options; /* options of the mount, ended by NULL; owned */
};

/* ---- The words ---- */

static error_t take_operand(struct with_options *r, char *value, struct argp_state *state)
{
	bool is_behind_dashes = state->quoted && state->next > state->quoted;

	if (is_behind_dashes && r->provider) {
		r->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	if (r->dir)
		return ctl_usage(state,
			"'%.60s': write -- before the command, as in %s local -- make", value,
			state->argv[0]);
	*(r->provider ? &r->dir : &r->provider) = value;
	return 0;
}

static error_t check(const struct with_options *r, const struct argp_state *state)
{
	if (!r->provider)
		return ctl_usage(
			state, "the provider is missing, as in %s local -- make", state->argv[0]);
	if (!r->command)
		return ctl_usage(state, "the command is missing, as in %s %.60s -- make",
			state->argv[0], r->provider);
	return 0;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 'o', "-o ", "OPTIONS", option_set_word, offsetof(struct with_options, options) },
		{ 0 },
	};
	struct with_options *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &r->making; return 0;
	case ARGP_KEY_ARG: return take_operand(r, value, state);
	case ARGP_KEY_END: return check(r, state);
	default: return ctl_take_value(values, key, value, state);
	}
}

/* ---- The command ---- */

/* The command may obey or ignore INT; any other signal that ends us ends all. */
static bool is_ended_by(int taken, int status)
{
	return taken && (taken != SIGINT || (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT));
}

static enum err run_command(
	const struct with_options *r, const char *dir, struct ctl_run *run, struct error *e)
{
	const struct child_request request = {
		.argv = r->command, .dir = dir, .file_mask = run->file_mask
	};
	int status = 0;
	pid_t pid;
	enum err kind = child_start(&request, &pid, e);

	if (kind)
		return kind;
	child_wait(pid, run->signals, &status);
	run->status = child_exit_code(status);
	if (is_ended_by(signals_taken(run->signals), status))
		return error_set(e, ERR_INTERRUPTED, "%s: ended by a signal", r->command[0]);
	return ERR_OK;
}

static enum err work(const struct with_options *r, const struct target *t,
	const struct guard *guard, struct ctl_run *run, struct error *e)
{
	struct mount_here mounted;
	struct error why = { 0 };
	enum err kind = mount_here_start(&mounted, t, guard, r->dir, r->options, e);

	if (kind)
		return kind;
	kind = run_command(r, mounted.dir, run, e);
	if (mount_here_end(&mounted, &why))
		say(stderr, "sandboxctl: %s", why.text);
	return kind;
}

static enum err with(const struct with_options *r, const struct ctl_common *common,
	struct ctl_run *run, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	struct guard guard = GUARD_NONE;
	enum err kind = mount_here_check(r->dir, e);

	if (!kind)
		kind = new_sandbox_do(&r->making, r->provider, common, &t, &guard, e);
	if (kind)
		return kind;
	say(stderr, "sandboxctl: made %s:%s, to be deleted when the command has ended",
		t.source.ops->name, t.source.id);
	kind = work(r, &t, &guard, run, e);
	new_sandbox_undo(&t);
	guard_end(&guard);
	return kind;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct with_options r = { .making = NEW_SANDBOX_INIT };
	struct ctl_common common;
	enum err kind;

	run->status = CTL_BROKEN;
	kind = ctl_parse(run, &r, &common, e);
	if (!kind)
		kind = with(&r, &common, run, e);
	new_sandbox_release(&r.making);
	option_list_free(r.options);
	return kind;
}

static const struct argp_option options[] = {
	{ "option", 'o', "OPTIONS", 0, "for the mount, as sandboxfs takes them; may be repeated",
		1 },
	{ 0 },
};

const struct ctl_command ctl_with = {
	.name = "with",
	.arguments = "PROVIDER [DIRECTORY] -- COMMAND [ARGUMENTS...]",
	.summary = "Run a command here in a new sandbox's directory, then delete the sandbox",
	.details = "The sandbox is mounted on DIRECTORY, or on a new one, where the command runs. "
		   "When it "
		   "has ended, also by a signal (HUP, INT or TERM, which are passed on to it), all "
		   "that "
		   "it changed is sent, the mount ends and the sandbox is deleted. So it is when "
		   "sandboxctl "
		   "itself is killed (KILL), except that the command, which is then nobody's, goes "
		   "on without "
		   "it.\n\n"
		   "Exit status: the command's; 125 when sandboxctl failed, 126 and 127 as of a "
		   "shell.",
	.flags = CTL_ACCOUNT | CTL_USER | CTL_COMMAND_LINE,
	.argp =
		&(const struct argp){
			.options = options,
			.parser = take_word,
			.children = (const struct argp_child[]){ { &new_sandbox_argp, 0, NULL, 0 },
				{ 0 } },
		},
	.run = run,
};
