#include "tools/ctl/each_option.h"

#include <ctype.h>

static bool is_last(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

/* Whether --help shows the row: no heading, and not hidden. */
static bool is_shown(const struct argp_option *o)
{
	return (o->name || o->key) && !(o->flags & (OPTION_HIDDEN | OPTION_DOC));
}

static void visit_table(const struct argp *argp, option_visitor visit, void *context)
{
	for (const struct argp_option *o = argp->options; o && !is_last(o); o++)
		if (is_shown(o))
			visit(context, o);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		visit_table(child->argp, visit, context);
}

void ctl_each_option(const struct ctl_command *command, option_visitor visit, void *context)
{
	struct argp_child tables[CTL_TABLES_MAX + 1];

	ctl_tables(command, tables);
	for (const struct argp_child *table = tables; table->argp; table++)
		visit_table(table->argp, visit, context);
}

char option_letter(const struct argp_option *option)
{
	return option->key > 0 && option->key < 128 && isprint(option->key) ? (char)option->key : 0;
}
