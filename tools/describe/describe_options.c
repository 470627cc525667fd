#include "tools/describe/describe.h"
#include "tools/options.h"

#include <stdio.h>
#include <string.h>

static void describe_option(const char *program, const struct opt *o)
{
	if (!o->help)
		printf("ignored\t%s\t\t%s\n", program, o->name);
	else if (*o->help)
		printf("%s\t%s\t\t%.*s\t%s\t%s\n", o->name[0] == '-' ? "option" : "mount-option",
			program, (int)strcspn(o->name, " "), o->name,
			o->argument ? o->argument : "", o->help);
}

static void describe_table(const char *program, const struct opt *table, size_t count)
{
	for (const struct opt *o = table; o < table + count; o++)
		describe_option(program, o);
}

void describe_options(void)
{
	describe_table("sandboxfs", options, options_count);
	describe_table("umount.fuse.sandboxfs", umount_options, umount_options_count);
}
