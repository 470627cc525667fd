/*
 * parse.c - the words of a command: its own options and those that commands share, by argp.
 *
 * argp would print an error in three lines and end the program; its messages are off, and ours are
 * one line.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/command.h"

#include <stdarg.h>
#include <stdio.h>

struct parsing {
	struct argp argp; /* the whole parser; first: every parser gets from it to here */
	struct ctl_run *run;
	void *input;
	struct ctl_common *common;
	struct error *error; /* error of the first wrong word */
};

static const struct parsing *parsing_of(const struct argp_state *state)
{
	return (const struct parsing *)state->root_argp;
}

enum key {
	KEY_JSON = 0x1000,
	KEY_APP,
	KEY_INSECURE,
	KEY_KEY_FILE,
	KEY_PROGRESS,
	KEY_READY,
	KEY_URL,
	KEY_USER
};

error_t ctl_usage(const struct argp_state *state, const char *format, ...)
{
	const struct parsing *p = parsing_of(state);
	AUTO_FREE char *sentence = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&sentence, format, arguments) < 0)
		sentence = NULL;
	va_end(arguments);
	error_set(p->error, ERR_INVALID, "%s: %s", p->run->command->name,
		sentence ? sentence : "out of memory");
	return EINVAL;
}

static error_t set(
	const struct ctl_value *v, const char *value, void *field, const struct argp_state *state)
{
	const struct opt row = { .name = v->name, .argument = v->argument, .number = 1 };
	struct error why = { 0 };

	return v->set(&row, value, field, &why) ? ctl_usage(state, "%s", why.text) : 0;
}

error_t ctl_take_value(
	const struct ctl_value *rows, int key, const char *value, const struct argp_state *state)
{
	for (const struct ctl_value *v = rows; v->key; v++)
		if (v->key == key)
			return set(v, value, (char *)state->input + v->offset, state);
	return ARGP_ERR_UNKNOWN;
}

/* ---- Shared options ---- */

static const struct ctl_value progress = {
	.name = "--progress-timeout=", .argument = "SECONDS", .set = option_set_progress
};
static const struct ctl_value ready = {
	.name = "--ready-timeout=", .argument = "SECONDS", .set = option_set_seconds
};

static error_t take_shared(int key, char *value, struct argp_state *state)
{
	struct ctl_common *common = parsing_of(state)->common;

	switch (key) {
	case KEY_JSON: common->json = true; return 0;
	case KEY_APP: common->app = value; return 0;
	case KEY_INSECURE: common->insecure_http = true; return 0;
	case KEY_KEY_FILE: common->key_file = value; return 0;
	case KEY_URL: common->url = value; return 0;
	case KEY_USER: common->user = value; return 0;
	case KEY_PROGRESS: return set(&progress, value, &common->progress_ms, state);
	case KEY_READY: return set(&ready, value, &common->ready_ms, state);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp json_argp = {
	.options =
		(const struct argp_option[]){
			{ "json", KEY_JSON, NULL, 0, "print JSON, for scripts", 0 },
			{ 0 },
		},
	.parser = take_shared,
};

static const struct argp account_argp = {
	.options =
		(const struct argp_option[]){
			{ "key-file", KEY_KEY_FILE, "FILE", 0,
				"the provider's key, in a file of mode 0600; else it comes from "
				"the environment",
				0 },
			{ "url", KEY_URL, "URL", 0,
				"the base URL of the provider's API, where it is not the vendor's "
				"own",
				0 },
			{ "insecure-http", KEY_INSECURE, NULL, 0,
				"use a URL of http that leads to another machine, unencrypted", 0 },
			{ "app", KEY_APP, "NAME", 0,
				"the provider's group of sandboxes, where there are such "
				"(sandboxfs): new ones join it, and names are looked up there",
				0 },
			{ "ready-timeout", KEY_READY, "SECONDS", 0,
				"how long a sandbox may take until it is ready, when it is made or "
				"woken (180)",
				0 },
			{ "progress-timeout", KEY_PROGRESS, "SECONDS", 0,
				"give up a request that makes no progress for so long (30); 0: "
				"never",
				0 },
			{ 0 },
		},
	.parser = take_shared,
};

static const struct argp user_argp = {
	.options =
		(const struct argp_option[]){
			{ "user", KEY_USER, "NAME", 0, "the sandbox's user, for commands and files",
				0 },
			{ 0 },
		},
	.parser = take_shared,
};

/* ---- The whole parser ---- */

/* argp's index is behind an option that it does not know, and before a word that no parser took. */
static error_t refuse_word(const struct argp_state *state)
{
	const struct parsing *p = parsing_of(state);
	const char *before = state->next > 1 ? state->argv[state->next - 1] : "";
	const char *word = state->next < state->argc ? state->argv[state->next] : "";

	if (p->error->kind)
		return 0;
	if (before[0] == '-' && before[1])
		return ctl_usage(state, "'%.60s': unknown, or its value is missing; see %s --help",
			before, p->run->argv[0]);
	return ctl_usage(state, "'%.60s': one word too many; see %s --help", word, p->run->argv[0]);
}

/* argp_state_help() would print nothing, because errors are ours to print. */
static void print_help(struct argp_state *state)
{
	state->flags &= ~(unsigned)ARGP_NO_ERRS;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK);
	exit(fflush(stdout) ? CTL_FAILED : CTL_OK);
}

static error_t take_any(int key, char *value, struct argp_state *state)
{

	(void)value;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = parsing_of(state)->input; return 0;
	case 'h': print_help(state); return 0;
	case ARGP_KEY_ERROR: return refuse_word(state);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option help_option[] = {
	{ "help", 'h', NULL, 0, "print this", -1 },
	{ 0 },
};

/* argp's note on arguments, below the options, is not useful. */
static char *leave_out_note(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

/* In argp's form: the part above the options, '\v', the part below. Allocated. */
static char *help_text(const struct ctl_command *command)
{
	char *text;

	if (asprintf(&text, "%s.%s%s", command->summary, command->details ? "\v" : "",
		    command->details ? command->details : "") < 0)
		return NULL;
	return text;
}

void ctl_tables(const struct ctl_command *command, struct argp_child out[CTL_TABLES_MAX + 1])
{
	static const struct argp none = { 0 };
	static const struct {
		unsigned flag;
		const struct argp *argp;
	} shared[] = {
		{ CTL_JSON, &json_argp },
		{ CTL_ACCOUNT, &account_argp },
		{ CTL_USER, &user_argp },
	};
	size_t count = 0;

	out[count++] = (struct argp_child){ .argp = command->argp ? command->argp : &none };
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (command->flags & shared[i].flag)
			out[count++] = (struct argp_child){ .argp = shared[i].argp };
	out[count] = (struct argp_child){ 0 };
}

enum err ctl_parse(struct ctl_run *run, void *input, struct ctl_common *common, struct error *e)
{
	const struct ctl_command *command = run->command;
	unsigned order = command->flags & CTL_COMMAND_LINE ? ARGP_IN_ORDER : 0;
	AUTO_FREE char *text = help_text(command);
	struct argp_child tables[CTL_TABLES_MAX + 1];
	struct error why = { 0 };
	const struct parsing p = {
		.argp = { help_option, take_any, command->arguments, text, tables, leave_out_note,
			NULL },
		.run = run,
		.input = input,
		.common = common,
		.error = &why,
	};

	if (!text)
		return error_set(e, ERR_NO_MEMORY, "%s", command->name);
	ctl_tables(command, tables);
	*common =
		(struct ctl_common){ .cancel = run->signals ? signals_cancel(run->signals) : NULL };
	if (!argp_parse(
		    &p.argp, run->argc, run->argv, ARGP_NO_ERRS | ARGP_NO_HELP | order, NULL, NULL))
		return ERR_OK;
	run->status = CTL_WRONG_USAGE;
	return error_set(
		e, why.kind ? why.kind : ERR_NO_MEMORY, "%s", why.kind ? why.text : command->name);
}
