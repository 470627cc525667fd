/*
 * command.h - `execute` for all vendors.
 *
 * The helper program starts the command in the sandbox as a process of its own that outlives the request, and records what
 * it prints in staging; this request and later ones follow the record from where the one before ended, each for some
 * seconds at most. So output is exact, both streams are apart and come while the command runs, a command may run longer
 * than the vendor lets a request last, and a request whose answer was lost is simply asked again: the record's name is
 * chosen here, and a second start of the same name follows the first. One that ends soon costs one request.
 *
 * Where the helper program cannot run, the command is one request that lasts as long as it does,
 * with what the vendor makes of that: a limit on its time or its output, bytes that are no text,
 * both streams in one.
 */
#pragma once

#include "providers/remote/remote.h"

/*
 * As provider.h says of `execute`. The time limit is kept in the sandbox: TERM to everything the command started, KILL 5 s
 * later. A call that is cancelled, and a sink that refuses, end the command in the same way, behind the caller's back where
 * that takes longer. ERR_UNREACHABLE: nobody answers any more, and the command may be running (result->may_have_run).
 */
enum err remote_command(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * The same of a program that says little and is wanted to be heard at once. A request lasts until it says something and a
 * tenth of a second more, or 20 s (half of the call's deadline on progress where that is less); while it goes on saying
 * something, requests last up to a second. ERR_UNSUPPORTED: there is no helper.
 */
enum err remote_command_listen(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/* What outlives a single command: those that are to be ended, and records to be removed. Internal to remote*.c. */
enum err remote_commands_new(struct remote_commands **out, const struct remote *r, struct error *e);
/* Commands that were cancelled are ended first. Waits, but not for long. */
void remote_commands_free(struct remote_commands *c);
