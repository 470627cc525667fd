/*
 * complete_mount.c - the words of sandboxfs and umount.fuse.sandboxfs (options.h).
 */
#include "tools/ctl/complete.h"
#include "tools/options.h"

#include <stdbool.h>
#include <string.h>

static bool is_listed(const struct opt *o)
{
	return o->help && *o->help && o->set != option_refuse;
}

/* Whether the next word is the value of this one. */
static bool takes_next(const char *word)
{
	return !strcmp(word, "-o") || !strcmp(word, "-N") || !strcmp(word, "-t");
}

static size_t count_operands(char **words, size_t count)
{
	size_t operands = 0;

	for (size_t i = 0; i < count; i++)
		if (takes_next(words[i]))
			i++;
		else if (words[i][0] != '-')
			operands++;
	return operands;
}

static void offer_letters(const struct completion *c, const struct opt *table, size_t rows)
{
	for (const struct opt *o = table; o < table + rows; o++)
		if (is_listed(o) && o->name[0] == '-')
			offer(c, "", o->name, strcspn(o->name, " "), o->help);
	offer(c, "", "-o", 2, "options, ',' between");
}

/* `before`: the typed text up to the name. */
static void offer_names(
	const struct completion *c, const char *before, const struct opt *table, size_t rows)
{
	for (const struct opt *o = table; o < table + rows; o++)
		if (is_listed(o) && o->name[0] != '-')
			offer(c, before, o->name, strlen(o->name), o->help);
}

static void offer_value(const struct completion *c, const char *before, const char *name,
	const struct opt *table, size_t rows)
{
	for (const struct opt *o = table; o < table + rows; o++)
		if (is_listed(o) && o->argument && !strncmp(o->name, name, strlen(o->name)))
			offer_argument(c, before, o->argument);
}

/* The last part of "keep,resume=a" is the one being typed. */
static void offer_listed(const struct completion *c, const struct opt *table, size_t rows)
{
	const char *comma = strrchr(c->word, ','), *name = comma ? comma + 1 : c->word;
	const char *equals = strchr(name, '=');
	const char *end = equals ? equals + 1 : name;
	char before[1024];

	if ((size_t)(end - c->word) >= sizeof before)
		return;
	memcpy(before, c->word, (size_t)(end - c->word));
	before[end - c->word] = 0;
	if (equals)
		offer_value(c, before, name, table, rows);
	else
		offer_names(c, before, table, rows);
}

/* Whether the word was an option or the value of one. */
static bool complete_option(
	const struct completion *c, const char *before, const struct opt *table, size_t rows)
{
	if (!strcmp(before, "-o"))
		offer_listed(c, table, rows);
	else if (c->word[0] == '-')
		offer_letters(c, table, rows);
	return takes_next(before) || c->word[0] == '-';
}

void complete_mount(const struct completion *c, char **words, size_t count)
{
	static const char *const operands[] = { "PROVIDER:ID", "DIRECTORY" };
	size_t operand = count_operands(words, count);

	if (!complete_option(c, count ? words[count - 1] : "", options, options_count) &&
		operand < sizeof operands / sizeof *operands)
		offer_argument(c, "", operands[operand]);
}

void complete_unmount(const struct completion *c, char **words, size_t count)
{
	const char *before = count ? words[count - 1] : "";

	if (!complete_option(c, before, umount_options, umount_options_count) &&
		!count_operands(words, count))
		offer_argument(c, "", "MOUNT");
}
