#include "tools/ctl/each_option.h"
#include "tools/describe/describe.h"

#include <stdio.h>

static void print_spelling(const struct argp_option *o)
{
	char letter = option_letter(o);

	if (letter)
		printf("-%c", letter);
	if (o->name)
		printf("%s--%s", letter ? " " : "", o->name);
}

static void describe_option(void *context, const struct argp_option *o)
{
	const struct ctl_command *command = context;

	if (o->flags & OPTION_ALIAS)
		return;
	printf("option\tsandboxctl\t%s\t", command->name);
	print_spelling(o);
	for (const struct argp_option *alias = o + 1; alias->flags & OPTION_ALIAS; alias++) {
		printf(" ");
		print_spelling(alias);
	}
	printf("\t%s\t%s\n", o->arg ? o->arg : "", o->doc ? o->doc : "");
}

static void print_paragraphs(const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			printf("\\n");
		else
			putchar(*text);
}

static void describe_command(const struct ctl_command *command)
{
	printf("command\tsandboxctl\t%s\t%s\t%s\t", command->name,
		command->arguments ? command->arguments : "", command->summary);
	print_paragraphs(command->details ? command->details : "");
	printf("\n");
	ctl_each_option(command, describe_option, (void *)command);
}

void describe_commands(void)
{
	const struct ctl_command *command;

	for (size_t i = 0; (command = ctl_at(i)); i++)
		describe_command(command);
}
