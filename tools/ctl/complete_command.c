/*
 * complete_command.c - the words of sandboxctl (command.h).
 */
#include "tools/ctl/complete.h"
#include "tools/ctl/each_option.h"

#include <stdio.h>
#include <string.h>

static void offer_text(const struct completion *c, const char *text, const char *help)
{
	offer(c, "", text, strlen(text), help);
}

static void offer_commands(const struct completion *c)
{
	const struct ctl_command *command;

	for (size_t i = 0; (command = ctl_at(i)); i++)
		offer_text(c, command->name, command->summary);
	offer_text(c, "--help", "print what there is");
	offer_text(c, "--version", "print the version");
}

/* ---- Options ---- */

static void offer_option(void *context, const struct argp_option *o)
{
	char name[64] = { '-', option_letter(o) };

	if (name[1])
		offer_text(context, name, o->doc);
	snprintf(name, sizeof name, "--%s%s", o->name ? o->name : "",
		o->arg && !(o->flags & OPTION_ARG_OPTIONAL) ? "=" : "");
	if (o->name)
		offer_text(context, name, o->doc);
}

struct search {
	const char *word; /* "--name", "--name=value" or "-n" */
	const struct argp_option *found;
};

static void compare_option(void *context, const struct argp_option *o)
{
	struct search *s = context;
	size_t len = strcspn(s->word, "=");
	char letter[] = { '-', option_letter(o), 0 };

	if (o->name && len == strlen(o->name) + 2 && !strncmp(s->word + 2, o->name, len - 2))
		s->found = o;
	else if (letter[1] && !strcmp(s->word, letter))
		s->found = o;
}

/* The value that an option takes; NULL: it takes none, or is unknown. */
static const char *value_of(const struct ctl_command *command, const char *word)
{
	struct search s = { .word = word };

	ctl_each_option(command, compare_option, &s);
	return s.found ? s.found->arg : NULL;
}

/* "--name=value" */
static void complete_value(const struct completion *c, const struct ctl_command *command)
{
	const char *argument = value_of(command, c->word);
	char before[64];

	snprintf(before, sizeof before, "%.*s", (int)strcspn(c->word, "=") + 1, c->word);
	if (argument)
		offer_argument(c, before, argument);
}

/* ---- Operands ---- */

/*
 * The name of the operand of that number in "SOURCE... [--] COMMAND"; the last one repeats where
 * that has "...". "": none.
 */
static const char *operand_name(const char *arguments, size_t operand)
{
	const char *name = arguments;

	while (*name && operand) {
		const char *next = name + strcspn(name, " ");

		next += strspn(next, " ");
		if (!*next && strstr(name, "..."))
			break;
		operand -= strncmp(next, "--", 2) != 0 && strncmp(next, "[--", 3) != 0;
		name = next;
	}
	return name;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static void complete_words(
	const struct completion *c, const struct ctl_command *command, char **words, size_t count)
{
	const char *pending = NULL; /* the value that the word before requires */
	size_t operands = 0;

	for (size_t i = 0; i < count; i++) {
		if (!pending && !strcmp(words[i], "--"))
			return;
		operands += !pending && !is_option(words[i]);
		pending = !pending && is_option(words[i]) && !strchr(words[i], '=')
			? value_of(command, words[i])
			: NULL;
	}
	if (pending)
		offer_argument(c, "", pending);
	else if (!is_option(c->word))
		offer_argument(c, "",
			operand_name(command->arguments ? command->arguments : "", operands));
	else if (strchr(c->word, '='))
		complete_value(c, command);
	else
		ctl_each_option(command, offer_option, (void *)c);
}

void complete_command(const struct completion *c, char **words, size_t count)
{
	const struct ctl_command *command = count ? ctl_find(words[0]) : NULL;

	if (!count)
		offer_commands(c);
	else if (command)
		complete_words(c, command, words + 1, count - 1);
}
