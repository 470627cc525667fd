#include "tools/describe/describe.h"

#include "providers/provider.h"

#include <stdio.h>

static void describe_providers(void)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++)
		printf("provider\t%s\t%s\t%s\n", ops->name, ops->title, ops->key_names);
}

int main(void)
{
	describe_providers();
	describe_options();
	describe_commands();
	return fflush(stdout) ? 1 : 0;
}
