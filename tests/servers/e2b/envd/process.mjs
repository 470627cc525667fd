// process.Process: starting, finding and feeding commands.
import fs from "node:fs";

import { toText } from "../../lib/bytes.mjs";
import { reason } from "../../lib/oserror.mjs";
import { record } from "../../lib/record.mjs";
import { launchWithPipes, options } from "../../lib/spawn.mjs";
import { launchOnTerminal } from "../../lib/terminal.mjs";
import { endEvent } from "./exit_status.mjs";
import { resolveText } from "./filesystem.mjs";
import { keepalive } from "./keepalive.mjs";
import { Signal } from "./messages.mjs";
import { RpcError } from "./rpc_error.mjs";
import { Running } from "./running.mjs";

const RETAINED_MS = 30_000;
const PIPE_CHUNK = 32 << 10;
const TERMINAL_CHUNK = 16 << 10;
// As the vendor's daemon does it: a command that does not exist is a status of 127, not a failure to start.
const WRAPPER = ["/bin/sh", "-c", 'exec "${@}"', "--"];
const SIGNAL_NAMES = { [Signal.SIGKILL]: "SIGKILL", [Signal.SIGTERM]: "SIGTERM" };

const running = new Map();
const retained = new Map();

// ---- Finding ---------------------------------------------------------------------------------------

// The vendor's search stops at the first tagged process that is another one.
function findByTag(tag) {
	let found;
	for (const process of running.values()) {
		if (process.tag === undefined)
			continue;
		if (process.tag !== tag)
			break;
		found = process;
	}
	return found;
}

function find(selector) {
	if (selector?.pid !== undefined && running.has(selector.pid))
		return running.get(selector.pid);
	if (selector?.pid !== undefined)
		throw new RpcError("not_found", `process with pid ${selector.pid} not found`);
	if (selector?.tag === undefined)
		throw new RpcError("unimplemented", "invalid input type *process.ProcessSelector");
	const found = findByTag(selector.tag);
	if (!found)
		throw new RpcError("not_found", `process with tag ${selector.tag} not found`);
	return found;
}

const findRetained = (selector) =>
	selector?.pid !== undefined ? retained.get(selector.pid) :
		[...retained.values()].find(({ tag }) => tag !== undefined && tag === selector?.tag);

// ---- Starting --------------------------------------------------------------------------------------

function environment(user, globals, config) {
	return { PATH: process.env.PATH, HOME: user.home, USER: user.name, LOGNAME: user.name, ...globals, ...config.envs };
}

function workingDirectory(config, user) {
	const directory = toText(resolveText(config.cwd, user));
	if (!fs.statSync(directory, { throwIfNoEntry: false }))
		throw new RpcError("invalid_argument", `cwd '${directory}' does not exist`);
	return directory;
}

const wrapped = (config) => [...WRAPPER, config.cmd ?? "", ...(config.args ?? [])];

async function withPipes(request, settings) {
	const started = await launchWithPipes(wrapped(request.process), settings, request.stdin);
	return {
		child: started.child,
		pid: started.child.pid,
		input: started.stdin,
		inputKind: "stdin",
		outputs: [
			{ kind: "stdout", stream: started.stdout, chunkSize: PIPE_CHUNK },
			{ kind: "stderr", stream: started.stderr, chunkSize: PIPE_CHUNK },
		],
	};
}

async function onTerminal(request, settings) {
	const terminal = await launchOnTerminal(wrapped(request.process), settings, request.pty.size ?? {});
	return {
		...terminal,
		inputKind: "pty",
		outputs: [{ kind: "pty", stream: terminal.output, chunkSize: TERMINAL_CHUNK }],
	};
}

async function launch(request, settings) {
	try {
		return await (request.pty ? onTerminal : withPipes)(request, settings);
	} catch (error) {
		if (error instanceof RpcError)
			throw error;
		const { cmd = "", args = [] } = request.process ?? {};
		throw new RpcError("invalid_argument",
			`error starting process '${[cmd, ...args].join(" ")}': fork/exec /bin/sh: ${reason(error)}`);
	}
}

function retain(one, event, has) {
	running.delete(one.pid);
	if (!has.keptStatus)
		return;
	const kept = { tag: one.tag, event };
	retained.set(one.pid, kept);
	setTimeout(() => retained.get(one.pid) === kept && retained.delete(one.pid), RETAINED_MS).unref();
}

function forgetRetained(pid, tag) {
	retained.delete(pid);
	for (const [other, kept] of retained)
		tag !== undefined && kept.tag === tag && retained.delete(other);
}

function register(started, request, has) {
	const one = new Running({
		...started,
		config: request.process ?? {},
		tag: request.tag,
		ended: (code, signal) => {
			const event = endEvent(code, signal);
			retain(one, event, has);
			one.listeners.forEach((listener) => listener.end(event));
		},
	});
	forgetRetained(one.pid, one.tag);
	running.set(one.pid, one);
	return one;
}

// Sends what the process says until its end, or until nobody listens any more.
function follow(call, writer, one) {
	return new Promise((resolve, reject) => {
		const pings = keepalive(call.headers, () => writer.send({ event: { keepalive: {} } }));
		const listener = {
			data: (data) => (pings.restart(), writer.send({ event: { data } })),
			drained: () => writer.drained(),
			end: (end) => (writer.send({ event: { end } }), leave(resolve)),
		};
		const leave = (how, error) => {
			pings.stop();
			one.listeners.delete(listener);
			how(error);
		};
		call.signal.addEventListener("abort", () => (call.signal.reason === "deadline" ?
			leave(reject, new RpcError("deadline_exceeded", "context deadline exceeded")) : leave(resolve)));
		one.listeners.add(listener);
		writer.send({ event: { start: { pid: one.pid } } });
	});
}

function killAtDeadline(one, deadlineMs) {
	if (!deadlineMs)
		return;
	const timer = setTimeout(() => killQuietly(one), deadlineMs);
	one.child.once("exit", () => clearTimeout(timer));
}

function killQuietly(one) {
	try {
		one.kill("SIGKILL");
	} catch {
		// It ended by itself.
	}
}

async function start({ globals, has }, call, request, writer) {
	const config = request.process ?? {};
	record("argv", [config.cmd, ...(config.args ?? [])].join("\0"));
	record("env", Object.entries(config.envs ?? {}).map((pair) => pair.join("=")).join("\0"));
	const settings = options(call.user, workingDirectory(config, call.user), environment(call.user, globals, config));
	const stdin = has.closedInput ? request.stdin ?? true : true;
	const one = register(await launch({ ...request, process: config, stdin }, settings), request, has);
	killAtDeadline(one, call.deadlineMs);
	const followed = follow(call, writer, one);
	one.begin();
	await followed;
}

async function connect(call, request, writer) {
	const late = findRetained(request.process);
	try {
		await follow(call, writer, find(request.process));
	} catch (error) {
		if (error.code !== "not_found" || !late)
			throw error;
		writer.send({ event: { end: late.event } });
	}
}

// ---- Feeding ---------------------------------------------------------------------------------------

function inputComplaint(one, kind) {
	if (kind === "stdin" && one.inputKind === "pty")
		return "error writing to stdin: tty assigned to process — input should be written to the pty, not the stdin";
	if (kind === "pty" && one.inputKind !== "pty")
		return "error writing to tty: tty not assigned to process — input should be written to the stdin, not the tty";
	return one.input ? undefined : "error writing to stdin: stdin not enabled or closed";
}

async function feed(one, input) {
	const kind = input?.stdin !== undefined ? "stdin" : "pty";
	if (!input || input[kind] === undefined)
		throw new RpcError("unimplemented", "invalid input type <nil>");
	const complaint = inputComplaint(one, kind);
	if (complaint)
		throw new RpcError("internal", complaint);
	record("stdin", input[kind]);
	try {
		await one.write(input[kind]);
	} catch (error) {
		throw new RpcError("internal",
			`error writing to stdin: error writing to stdin of process '${one.pid}': write |1: ${reason(error)}`);
	}
}

async function sendInput(call, request) {
	await feed(find(request.process), request.input);
	return {};
}

async function streamInput(call, messages) {
	let one;
	for await (const message of messages) {
		if (message.start)
			one = find(message.start.process);
		else if (message.data && !one)
			throw new RpcError("internal", "no process was named before its input");
		else if (message.data)
			await feed(one, message.data.input);
		else if (!message.keepalive)
			throw new RpcError("unimplemented", "invalid event type <nil>");
	}
	return {};
}

function closeStdin(call, request) {
	const one = find(request.process);
	if (one.inputKind === "pty") {
		throw new RpcError("unknown",
			"error closing stdin: cannot close stdin for PTY process — send Ctrl+D (0x04) instead");
	}
	one.closeInput();
	return {};
}

// ---- The rest --------------------------------------------------------------------------------------

function sendSignal(call, request) {
	const one = find(request.process);
	const name = SIGNAL_NAMES[request.signal];
	if (!name)
		throw new RpcError("unimplemented", `invalid signal: ${request.signal ?? "SIGNAL_UNSPECIFIED"}`);
	try {
		one.kill(name);
	} catch {
		throw new RpcError("internal", "error sending signal: os: process already finished");
	}
	return {};
}

function update(call, request) {
	const one = find(request.process);
	if (request.pty && !one.resize)
		throw new RpcError("internal", "error resizing tty: tty not assigned to process");
	if (request.pty)
		one.resize(request.pty.size ?? {});
	return {};
}

const list = () => ({ processes: [...running.values()].map(({ config, pid, tag }) => ({ config, pid, tag })) });

// `sandbox.globals`: environment variables that every command gets.
export const processHandlers = (sandbox) => ({
	"process.Process/List": list,
	"process.Process/Start": (call, request, writer) => start(sandbox, call, request, writer),
	"process.Process/Connect": connect,
	"process.Process/Update": update,
	"process.Process/StreamInput": streamInput,
	"process.Process/SendInput": sendInput,
	"process.Process/SendSignal": sendSignal,
	...(sandbox.has.closeStdin ? { "process.Process/CloseStdin": closeStdin } : {}),
});
