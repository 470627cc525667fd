/*
 * command.h - `execute` for all vendors.
 *
 * The helper program starts the command in the sandbox as a process of its own that outlives the
 * request, and records its output in staging. This request and later ones follow the record from
 * where the one before ended, each for some seconds at most. So output is exact, and both streams
 * are separate and come while the command runs. A command may run longer than the vendor lets a
 * request last. A request whose answer was lost is sent again: the record's name is chosen here,
 * and a second start of the same name follows the first. A command that ends soon costs one
 * request.
 *
 * Where the helper program cannot run, the command is one request of the same duration, with the
 * vendor's restrictions: a limit on its time or its output, damage to bytes that are no text, both
 * streams in one.
 */
#pragma once

#include "providers/remote/remote.h"

/*
 * As `execute` of provider.h. The time limit is kept in the sandbox: TERM to all processes of the
 * command, KILL 5 s later. A cancelled call, and a sink that refuses, end the command in the same
 * way, in the background where that takes longer. ERR_UNREACHABLE: no answer comes any more, and
 * the command may be running (result->may_have_run).
 */
enum err remote_command(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * As remote_command(), for a program with little output that is wanted at once. A request lasts
 * until there is output and a tenth of a second more, or 20 s (half of the call's deadline on
 * progress where that is less). While output goes on, requests last up to a second.
 * ERR_UNSUPPORTED: there is no helper.
 */
enum err remote_command_listen(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * State that outlives a single command: the commands to end, and the records to remove. Internal to
 * providers/remote.
 */
enum err remote_commands_new(struct remote_commands **out, const struct remote *r, struct error *e);
/* Cancelled commands are ended first. Waits for a short time. */
void remote_commands_free(struct remote_commands *c);
