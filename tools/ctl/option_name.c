#include "tools/ctl/option_name.h"

#include "providers/provider.h"
#include "tools/creation_options.h"

#include <stddef.h>

#define VALUE(bit, letter, field, setter, name, word, of, text)                                    \
	{                                                                                          \
		bit, "--" word "="                                                                 \
	}
#define FLAG(bit, letter, field, setter, name, word, of, text)                                     \
	{                                                                                          \
		bit, "--" word                                                                     \
	}

const char *ctl_option_name(unsigned option)
{
	static const struct {
		unsigned option;
		const char *name;
	} names[] = {
		CREATION_OPTIONS(VALUE, FLAG),
		{ OPTION_ENV, "--env=" },
		{ OPTION_LIFETIME, "--timeout=" },
		{ OPTION_USER, "--user=" },
		{ OPTION_APP, "--app=" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].option == option)
			return names[i].name;
	return "that";
}
