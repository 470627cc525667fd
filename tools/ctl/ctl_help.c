#include "providers/provider.h"
#include "tools/ctl/command.h"

#include <stdio.h>

void ctl_print_help(void)
{
	AUTO_BUF struct buf providers = BUF_INIT(1024);
	const struct ctl_command *command;

	provider_names(&providers);
	printf("Usage: sandboxctl COMMAND [options] ARGUMENTS\n"
	       "Makes sandboxes, works in them and removes them.\n\n"
	       "A sandbox is PROVIDER:ID, as in local:demo. Providers: %s\n\n",
		buf_text(&providers));
	for (size_t i = 0; (command = ctl_at(i)); i++)
		printf("  %-10s%s\n", command->name, command->summary);
	printf("\nsandboxctl COMMAND --help tells more. sandboxfs(1) shows a sandbox as a "
	       "directory.\n"
	       "Exit status: 0; 1 it failed; 2 how it was called; of exec, run and with that of "
	       "their\n"
	       "command, 124 when its time was over, 125 when sandboxctl itself failed.\n");
}
