#include "tools/ctl/values.h"

#include "tools/option_values.h"

#include <stdlib.h>

enum err value_set(const struct value *v, const char *value, void *field, struct error *e)
{
	static const struct {
		option_set set;
		const char *argument;
	} kinds[] = {
		[VALUE_SECONDS] = { option_set_seconds, "SECONDS" },
		[VALUE_PROGRESS] = { option_set_progress, "SECONDS" },
		[VALUE_SIZE] = { option_set_size, "SIZE" },
		[VALUE_PORT] = { option_set_port, "PORT" },
		[VALUE_CPUS] = { option_set_cpus, "NUMBER" },
		[VALUE_TEXT] = { option_set_text, "its value" },
		[VALUE_VARIABLE] = { option_set_variable, "NAME=VALUE" },
		[VALUE_LABEL] = { option_set_label, "KEY=VALUE" },
		[VALUE_WORD] = { option_set_word, "" },
		[VALUE_FLAG] = { option_set_flag, "" },
	};
	const struct option row = {
		.name = v->name, .argument = kinds[v->kind].argument, .number = 1
	};

	return kinds[v->kind].set(&row, value, field, e);
}

void value_list_free(char **list)
{
	for (char **one = list; list && *one; one++)
		free(*one);
	free(list);
}
