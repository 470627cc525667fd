/*
 * command:'PROGRAM ARGUMENTS'[:/PATH]: any program that runs its last arguments in a sandbox and
 * passes input and output on unchanged.
 */
#include "providers/command/command.h"

#include <stdio.h>
#include <string.h>

static const struct complaint complaints[] = {
	{ "not found", ERR_UNSUPPORTED, NULL },
	{ 0 },
};

/* A shell of this machine splits the text, as its author expects. */
static void put_words(const struct command *c, bool asks, struct words *out)
{
	(void)asks;
	words_add_all(out, (const char *const[]){ "/bin/sh", "-c", NULL });
	words_add(out, "exec %s /bin/sh", c->given);
}

static const struct transport transport = {
	.program = "sh",
	.working_dir = ".",
	.complaints = complaints,
	.put_words = put_words,
};

/* The path begins behind the last colon that a slash follows. */
static enum err take_id(const char *text, size_t *len, struct error *e)
{
	const char *path = NULL;

	for (const char *at = text; (at = strstr(at, ":/")); at++)
		path = at;
	*len = path ? (size_t)(path - text) : strlen(text);
	for (size_t i = 0; i < *len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return error_set(e, ERR_INVALID, "a command is a line of text");
	return ERR_OK;
}

static enum err connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	return command_connect(&command_provider, &transport, cfg, call, out, e);
}

const struct provider_ops command_provider = {
	.name = "command",
	.title = "Any command",
	.key_names = "",
	.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE,
	.connect_options = OPTION_RESUME_NEVER,
	.take_id = take_id,
	.connect = connect,
	.release = command_release,
	.info = command_info,
	.execute = attachment_execute,
};
