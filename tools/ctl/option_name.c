#include "tools/ctl/option_name.h"

#include "providers/provider.h"

#include <stddef.h>

const char *ctl_option_name(unsigned option)
{
	static const struct {
		unsigned option;
		const char *name;
	} names[] = {
		{ OPTION_TEMPLATE, "--template=" },
		{ OPTION_ENV, "--env=" },
		{ OPTION_LABELS, "--label=" },
		{ OPTION_NAME, "--name=" },
		{ OPTION_CPUS, "--cpus=" },
		{ OPTION_MEMORY, "--memory=" },
		{ OPTION_DISK, "--disk=" },
		{ OPTION_GPU, "--gpu=" },
		{ OPTION_REGION, "--region=" },
		{ OPTION_IDLE, "--idle=" },
		{ OPTION_DELETE_AFTER, "--delete-after=" },
		{ OPTION_BLOCK_NETWORK, "--block-network" },
		{ OPTION_PORTS, "--port=" },
		{ OPTION_LIFETIME, "--timeout=" },
		{ OPTION_USER, "--user=" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].option == option)
			return names[i].name;
	return "that";
}
