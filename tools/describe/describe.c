#include "tools/describe/describe.h"

#include "providers/variables.h"

#include <stdio.h>

static void describe_variables(void)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_at(i)); i++)
		printf("variable\t%s\t%s\t%s\t%s\n", v->provider, v->name, v->help,
			v->otherwise ? v->otherwise : "");
}

int main(void)
{
	describe_providers();
	describe_new();
	describe_variables();
	describe_options();
	describe_commands();
	return describe_failures() && !fflush(stdout) ? 0 : 1;
}
