/* The exit statuses of the programs (tools/exits.h), and the errors that lead to them. */
#include "tools/exits.h"

#include "tools/ctl/child.h"
#include "tools/ctl/command.h"
#include "tools/mounted.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <sys/wait.h>

TestSuite(exits, .timeout = 300);

Test(exits, a_mount_that_was_asked_for_wrongly_did_not_fail)
{
	static const struct {
		enum err kind;
		enum exits status;
	} rows[] = {
		{ ERR_OK, EXITS_OK },
		{ ERR_INVALID, EXITS_USAGE },
		{ ERR_DENIED, EXITS_USAGE },
		{ ERR_NOT_OWNER, EXITS_USAGE },
		{ ERR_AUTH, EXITS_USAGE },
		{ ERR_NOT_FOUND, EXITS_MOUNT },
		{ ERR_UNREACHABLE, EXITS_MOUNT },
		{ ERR_IO, EXITS_MOUNT },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
		cr_expect(eq(int, exits_for(rows[n].kind), rows[n].status), "row %zu", n);
}

Test(exits, a_mount_whose_daemon_ends_during_the_call_is_dead)
{
	cr_expect(mounted_is_dead(ENOTCONN));
	cr_expect(mounted_is_dead(ECONNABORTED));
	cr_expect(mounted_is_dead(ECONNREFUSED));
	cr_expect(not(mounted_is_dead(0)));
	cr_expect(not(mounted_is_dead(EACCES)));
	cr_expect(not(mounted_is_dead(ENOENT)));
}

static int status_of_exec(int argc, char **argv)
{
	const struct ctl_command *command = ctl_find("exec");
	struct ctl_run run = { .command = command, .argc = argc, .argv = argv };
	struct error e = { 0 };

	cr_expect(ne(int, command->run(&run, &e), ERR_OK));
	return run.status;
}

Test(exits, a_wrong_use_of_exec_and_its_failure_are_no_status_of_the_command)
{
	char name[] = "sandboxctl exec", option[] = "--timeout=soon", source[] = "nowhere:demo";
	char word[] = "ls";

	cr_expect(eq(int, status_of_exec(4, (char *[]){ name, option, source, word, NULL }),
		CTL_WRONG_USAGE));
	cr_expect(eq(int, status_of_exec(3, (char *[]){ name, source, word, NULL }), CTL_BROKEN));
}

static int status_of_child(char *program)
{
	char *argv[] = { program, NULL };
	struct error e = { 0 };
	pid_t pid;
	int status;

	cr_assert(eq(int, child_start(&(struct child_request){ .argv = argv }, &pid, &e), ERR_OK));
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	return child_exit_code(status);
}

Test(exits, a_missing_program_is_distinguished_from_one_that_cannot_run)
{
	char none[] = "/no/such/program", directory[] = "/";

	cr_expect(eq(int, status_of_child(none), CTL_NO_COMMAND));
	cr_expect(eq(int, status_of_child(directory), CTL_CANNOT_RUN));
}
