/*
 * The contract's subject for sandboxes that a program of the user's own reaches
 * (providers/command/command.h): env(1), on this machine, in place of ssh and docker, whose servers
 * a unit test has not. All that they share is what a mount uses.
 */
#include "providers/command/command.h"
#include "tests/providers/contract.h"

#include <fcntl.h>
#include <stdio.h>

static const struct subject row = {
	.name = "command", .is_remote = true, .lacks = IS_ALONE | LACKS_PORTS
};

/* Commands find the shown tree as their home. */
static void set_up(void)
{
	struct subject *s = contract_subject();
	char program[256];

	contract_begin(&row, &command_provider);
	scratch_make(&s->scratch);
	scratch_mkdir(&s->scratch, "user", 0755);
	snprintf(program, sizeof program, "env -C %s/user HOME=%s/user", s->scratch.path,
		s->scratch.path);
	contract_connect(s, program);
	s->tree.fd = openat(s->scratch.fd, "user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->tree.fd >= 0);
}

TestSuite(contract_command, .init = set_up, .fini = contract_end, .timeout = 300);
