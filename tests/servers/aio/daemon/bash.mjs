// /v1/bash: commands over pipes, in sessions that keep a working directory and nothing else.
import { randomUUID } from "node:crypto";

import { sendJson } from "../../lib/http.mjs";
import { HttpError, succeeded } from "./answer.mjs";
import { jsonBody } from "./body.mjs";
import { Command } from "./command.mjs";

const OUTPUT_MAX = 50_000;
// Of a session's, whose output can still be asked for.
const KEPT_COMMANDS = 4;
const MARK = "\n\n... [output truncated] ...\n\n";
const SIGNALS = ["SIGTERM", "SIGKILL", "SIGINT"];
const EXEC = {
	session_id: "string?", command: "string!", exec_dir: "string?", env: "texts?", async_mode: "boolean", timeout: "number?",
	hard_timeout: "number?", max_output_length: "integer",
};
const OUTPUT = {
	session_id: "string!", command_id: "string?", offset: "integer", stderr_offset: "integer", wait: "boolean",
	wait_timeout: "number",
};
const WRITE = { session_id: "string!", command_id: "string?", input: "string!" };
const KILL = { session_id: "string!", signal: "string" };
const CREATE = { session_id: "string?", exec_dir: "string?", snapshot_path: "string?" };

// ---- Sessions --------------------------------------------------------------------------------------

class Session {
	constructor(id, directory) {
		this.id = id || randomUUID();
		this.directory = directory;
		this.created = new Date();
		this.used = this.created;
		this.commands = [];
		this.count = 0;
	}

	get current() {
		return this.commands.at(-1);
	}

	get isBusy() {
		return this.commands.some(({ isRunning }) => isRunning);
	}

	get info() {
		return {
			session_id: this.id,
			status: "ready",
			working_dir: this.directory,
			created_at: this.created.toISOString(),
			last_used_at: this.used.toISOString(),
			current_command: this.isBusy ? this.current.text : null,
			command_count: this.count,
		};
	}

	end() {
		this.commands.filter(({ isRunning }) => isRunning).forEach((command) => command.stop("killed", "SIGKILL"));
	}
}

class Sessions {
	constructor({ user, maxSessions }) {
		this.home = user.home;
		this.max = maxSessions;
		this.all = new Map();
	}

	// The one that was idle for longest makes room.
	makeRoom() {
		if (this.all.size < this.max)
			return;
		const [oldest] = [...this.all.values()].filter(({ isBusy }) => !isBusy).sort((a, b) => a.used - b.used);
		if (!oldest)
			throw new HttpError(400, `Maximum number of sessions (${this.max}) reached`);
		this.all.delete(oldest.id);
	}

	create(id, directory) {
		if (this.all.has(id))
			throw new HttpError(400, `Session ${id} already exists`);
		this.makeRoom();
		const session = new Session(id, directory || this.home);
		this.all.set(session.id, session);
		return session;
	}

	find(id) {
		const session = this.all.get(id);
		if (!session)
			throw new HttpError(404, `Session not found: ${id}`);
		session.used = new Date();
		return session;
	}

	close(id) {
		this.find(id).end();
		this.all.delete(id);
	}
}

function findCommand(session, id) {
	const command = id ? session.commands.find((one) => one.id === id) : session.current;
	if (!command && id)
		throw new HttpError(404, `Command not found: ${id}`);
	return command;
}

// ---- The endpoints ---------------------------------------------------------------------------------

function shortened(text, max) {
	if (!max || text.length <= max)
		return text;
	return text.slice(0, Math.ceil(max / 2)) + MARK + text.slice(text.length - Math.floor(max / 2));
}

function execResult(session, command, max) {
	return {
		session_id: session.id,
		...command.info,
		stdout: shortened(command.out.textFrom(0), max) || null,
		stderr: shortened(command.err.textFrom(0), max) || null,
		offset: command.out.length,
		stderr_offset: command.err.length,
	};
}

async function startIn(session, request, environment) {
	if (session.isBusy)
		throw new HttpError(400, `Session ${session.id} is busy`);
	session.directory = request.exec_dir || session.directory;
	const command = new Command(request.command);
	session.commands = [...session.commands.slice(1 - KEPT_COMMANDS), command];
	session.count++;
	await command.start({ cwd: session.directory, env: { ...environment, ...request.env } }, request.hard_timeout);
	return command;
}

function until(command, seconds) {
	if (seconds === undefined || seconds === null)
		return command.ended;
	let timer;
	const late = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000)));
	return Promise.race([command.ended, late]).finally(() => clearTimeout(timer));
}

async function exec({ sessions, environment }, req, res) {
	const request = await jsonBody(req, EXEC);
	if (request.exec_dir && !request.exec_dir.startsWith("/"))
		throw new HttpError(400, "exec_dir must be an absolute path");
	const session = request.session_id ? sessions.find(request.session_id) : sessions.create();
	const command = await startIn(session, request, environment);
	if (!request.async_mode)
		await until(command, request.timeout);
	sendJson(res, 200, succeeded(execResult(session, command, request.async_mode ? 0 : request.max_output_length ?? OUTPUT_MAX)));
}

async function output({ sessions }, req, res) {
	const { session_id, command_id, offset = 0, stderr_offset = 0, wait, wait_timeout = 30 } = await jsonBody(req, OUTPUT);
	const command = findCommand(sessions.find(session_id), command_id);
	if (command && wait)
		await command.wait(offset, stderr_offset, wait_timeout);
	sendJson(res, 200, succeeded({
		session_id,
		stdout: command?.out.textFrom(offset) ?? "",
		stderr: command?.err.textFrom(stderr_offset) ?? "",
		offset: command?.out.length ?? 0,
		stderr_offset: command?.err.length ?? 0,
		command: command?.info ?? null,
	}));
}

async function write({ sessions }, req, res) {
	const { session_id, command_id, input } = await jsonBody(req, WRITE);
	const command = findCommand(sessions.find(session_id), command_id);
	if (!command?.isRunning)
		throw new HttpError(400, "No running command");
	await command.write(input);
	sendJson(res, 200, succeeded(null));
}

async function kill({ sessions }, req, res) {
	const { session_id, signal = "SIGTERM" } = await jsonBody(req, KILL);
	if (!SIGNALS.includes(signal))
		throw new HttpError(400, `Unsupported signal: ${signal}`);
	const command = sessions.find(session_id).current;
	if (command?.isRunning)
		command.stop("killed", signal);
	sendJson(res, 200, succeeded(null));
}

async function create({ sessions }, req, res) {
	const { session_id, exec_dir } = await jsonBody(req, CREATE);
	sendJson(res, 200, succeeded(sessions.create(session_id, exec_dir).info));
}

function close({ sessions }, req, res) {
	sessions.close(decodeURIComponent(req.url.split("/")[4]));
	sendJson(res, 200, succeeded(null));
}

export function bashRoutes(sandbox) {
	const bash = { sessions: new Sessions(sandbox), environment: sandbox.environment };
	const list = () => succeeded([...bash.sessions.all.values()].map(({ info }) => info));
	return {
		"/v1/bash/exec": { POST: (req, res) => exec(bash, req, res) },
		"/v1/bash/output": { POST: (req, res) => output(bash, req, res) },
		"/v1/bash/write": { POST: (req, res) => write(bash, req, res) },
		"/v1/bash/kill": { POST: (req, res) => kill(bash, req, res) },
		"/v1/bash/sessions": { GET: (req, res) => sendJson(res, 200, list()) },
		"/v1/bash/sessions/create": { POST: (req, res) => create(bash, req, res) },
		"/v1/bash/sessions/*/close": { POST: (req, res) => close(bash, req, res) },
	};
}
