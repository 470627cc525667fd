#include "tools/ctl/command.h"

#include <string.h>

static const struct ctl_command *const commands[] = {
	&ctl_create,
	&ctl_list,
	&ctl_info,
	&ctl_delete,
	&ctl_gc,
	&ctl_pause,
	&ctl_resume,
	&ctl_extend,
	&ctl_snapshot,
	&ctl_fork,
	&ctl_exec,
	&ctl_run,
	&ctl_session,
	&ctl_push,
	&ctl_pull,
	&ctl_url,
	&ctl_network,
	&ctl_logs,
	&ctl_start,
	&ctl_status,
	&ctl_sync,
	&ctl_journal,
	&ctl_doctor,
	&ctl_with,
};

const struct ctl_command *ctl_at(size_t index)
{
	return index < sizeof commands / sizeof *commands ? commands[index] : NULL;
}

const struct ctl_command *ctl_find(const char *name)
{
	const struct ctl_command *command;

	for (size_t i = 0; (command = ctl_at(i)); i++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}
