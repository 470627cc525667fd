// The endpoints that run commands.
import { sendJson } from "../../lib/http.mjs";
import { record } from "../../lib/record.mjs";
import { ApiError } from "../api_error.mjs";
import { checkMembers, filled, flag, integer, list, oneOf, queryInteger, readObject, text } from "../input.mjs";
import { until } from "../until.mjs";
import { Execution } from "./execution.mjs";
import { Shell } from "./shell.mjs";
import { stream } from "./stream.mjs";

const COMMAND_MAX = 131_000;
const WAIT_MAX_S = 25;
const LINES = 100;
const LINES_MAX = 2 ** 31 - 1;
const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SIGNALS = { INTERRUPT: "SIGINT" };

// Held by the daemon: executions by their ids and those of their commands, shells by name.
export const makeTables = () => ({ executions: new Map(), byCommandId: new Map(), shells: new Map() });

function view(daemon, execution, query) {
	const base = {
		devbox_id: daemon.devbox, execution_id: execution.id, status: execution.status, shell_name: execution.shell?.name ?? null,
	};
	if (!execution.isCompleted)
		return base;
	const lines = queryInteger(query, "last_n", 0, LINES_MAX, LINES);
	const stdout = execution.outputs.stdout.tail(lines, daemon.limits.maxOutput);
	const stderr = execution.outputs.stderr.tail(lines, daemon.limits.maxOutput);
	return {
		...base,
		exit_status: execution.exitStatus,
		stdout: stdout.text,
		stderr: stderr.text,
		stdout_truncated: stdout.isTruncated,
		stderr_truncated: stderr.isTruncated,
	};
}

function checkCommand(command) {
	if (command.length > COMMAND_MAX)
		throw new ApiError(400, `The command is too long: ${command.length} characters`);
	if (command.includes("\0"))
		throw new ApiError(400, "The command contains a NUL character");
}

function shellNamed(daemon, name) {
	if (!name)
		return undefined;
	const { shells } = daemon.tables;
	if (!shells.has(name))
		shells.set(name, new Shell(name, `${daemon.shells}/${shells.size}`));
	return shells.get(name);
}

function begin(daemon, { command, shell_name: shellName, attach_stdin: hasStdin }) {
	checkCommand(command);
	record("command", command);
	const execution = new Execution(daemon, { command, shell: shellNamed(daemon, shellName), hasStdin: hasStdin ?? false });
	daemon.tables.executions.set(execution.id, execution);
	execution.start();
	return execution;
}

function find(daemon, id) {
	const execution = daemon.tables.executions.get(id);
	if (!execution)
		throw new ApiError(404, `Execution not found: ${id}`);
	return execution;
}

// ---- Starting --------------------------------------------------------------------------------------

// The same id is the same command, whatever else is asked for.
function beginOnce(daemon, wanted) {
	const { byCommandId } = daemon.tables;
	if (!byCommandId.has(wanted.command_id))
		byCommandId.set(wanted.command_id, begin(daemon, wanted));
	return byCommandId.get(wanted.command_id);
}

async function execute(daemon, req, res, { query }) {
	const wanted = checkMembers(await readObject(req), {
		command: filled,
		command_id: (id) => UUID_7.test(id),
		optimistic_timeout: integer(0, WAIT_MAX_S),
		shell_name: text,
	}, ["command", "command_id"]);
	const execution = beginOnce(daemon, wanted);
	await until(execution.changes, () => execution.isCompleted, (wanted.optimistic_timeout ?? WAIT_MAX_S) * 1000);
	sendJson(res, 200, view(daemon, execution, query));
}

async function executeAsync(daemon, req, res, { query }) {
	const wanted = checkMembers(await readObject(req), { command: filled, shell_name: text, attach_stdin: flag }, ["command"]);
	sendJson(res, 200, view(daemon, begin(daemon, wanted), query));
}

async function executeSync(daemon, req, res, { query }) {
	const wanted = checkMembers(await readObject(req), { command: filled, shell_name: text }, ["command"]);
	const execution = begin(daemon, wanted);
	if (!await until(execution.changes, () => execution.isCompleted, daemon.limits.holdMs))
		throw new ApiError(408, "The command has not completed in time");
	const { devbox_id, exit_status, stdout, stderr, shell_name } = view(daemon, execution, query);
	sendJson(res, 200, { devbox_id, exit_status, stdout, stderr, shell_name });
}

// ---- What has been started -------------------------------------------------------------------------

function retrieve(daemon, req, res, { id, query }) {
	sendJson(res, 200, view(daemon, find(daemon, id), query));
}

async function waitForStatus(daemon, req, res, { id, query }) {
	const { statuses, timeout_seconds: holdS } = checkMembers(await readObject(req),
		{ statuses: list(oneOf("queued", "running", "completed")), timeout_seconds: integer(0, WAIT_MAX_S) }, ["statuses"]);
	const execution = find(daemon, id);
	const holdMs = Math.min((holdS ?? WAIT_MAX_S) * 1000, daemon.limits.holdMs);
	if (!await until(execution.changes, () => statuses.includes(execution.status), holdMs))
		throw new ApiError(408, `Execution ${id} is still ${execution.status}`, { "x-should-retry": "true" });
	sendJson(res, 200, view(daemon, execution, query));
}

async function kill(daemon, req, res, { id, query }) {
	const { kill_process_group: isGroup } = checkMembers(await readObject(req), { kill_process_group: flag });
	const execution = find(daemon, id);
	execution.signal("SIGKILL", isGroup);
	sendJson(res, 200, view(daemon, execution, query));
}

async function sendStdIn(daemon, req, res, { id }) {
	const { text: input, signal } = checkMembers(await readObject(req), { text, signal: oneOf("EOF", "INTERRUPT") });
	const execution = find(daemon, id);
	if (!execution.hasStdin)
		throw new ApiError(400, "The execution was started without attach_stdin");
	if (input)
		execution.stdin?.write(input);
	if (signal === "EOF")
		execution.stdin?.end();
	else if (signal)
		execution.signal(SIGNALS[signal], true);
	sendJson(res, 200, { devbox_id: daemon.devbox, execution_id: id, success: true });
}

const streamOf = (name) => (daemon, req, res, { id, query }) =>
	stream(res, find(daemon, id), name, queryInteger(query, "offset", 0, Number.MAX_SAFE_INTEGER, 0), daemon.limits.streamIdleMs);

export const commandRoutes = {
	"POST execute": execute,
	"POST execute_async": executeAsync,
	"POST execute_sync": executeSync,
	"GET executions/{id}": retrieve,
	"POST executions/{id}/wait_for_status": waitForStatus,
	"POST executions/{id}/kill": kill,
	"POST executions/{id}/send_std_in": sendStdIn,
	"GET executions/{id}/stream_stdout_updates": streamOf("stdout"),
	"GET executions/{id}/stream_stderr_updates": streamOf("stderr"),
};
