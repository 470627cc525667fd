// /v1/shell: commands on a terminal of 80 columns, one after the other in a session, with one output for both streams.
//
// As strict as what is known of it (its OpenAPI document says: compatible with OpenHands): one command of one line at a
// time; a second one in a session that is busy corrupts both; more than 30,000 characters are cut unless `truncate` is
// false.
import { randomUUID } from "node:crypto";
import os from "node:os";

import { sendJson } from "../../lib/http.mjs";
import { launchOnTerminal } from "../../lib/terminal.mjs";
import { HttpError, succeeded } from "./answer.mjs";
import { jsonBody } from "./body.mjs";

const OUTPUT_MAX = 30_000;
const LINE_MAX = 4096;
const SIZE = { cols: 80, rows: 24 };
const EXEC = {
	id: "string?", command: "string!", exec_dir: "string?", async_mode: "boolean", timeout: "number?", strict: "boolean?",
	no_change_timeout: "integer?", hard_timeout: "number?", preserve_symlinks: "boolean?", truncate: "boolean",
};
const OF_SESSION = { id: "string!" };
const WAIT = { id: "string!", seconds: "integer?", max_wait_seconds: "integer?" };
const CREATE = { id: "string?", exec_dir: "string?", no_change_timeout: "integer?", preserve_symlinks: "boolean?" };

class Terminal {
	constructor(id, directory) {
		this.id = id ?? randomUUID();
		this.directory = directory;
		this.used = Date.now();
		this.status = "completed";
		this.output = "";
		this.exitCode = null;
		this.ended = Promise.resolve();
	}

	get isBusy() {
		return this.status === "running";
	}

	async run(command, env) {
		Object.assign(this, { command, status: "running", output: "", exitCode: null });
		const { child, pid, output } = await launchOnTerminal(["/bin/bash", "-c", command],
			{ cwd: this.directory, env, detached: true }, SIZE);
		this.pid = pid;
		output.setEncoding("utf8").on("data", (text) => (this.output += text));
		this.ended = new Promise((resolve) => child.once("close", (code, signal) => {
			this.exitCode = code ?? 128 + os.constants.signals[signal];
			this.status = this.isBusy ? "completed" : this.status;
			resolve();
		}));
	}

	end() {
		if (!this.isBusy)
			return;
		this.status = "terminated";
		try {
			process.kill(-this.pid, "SIGKILL");
		} catch {
			// It is gone.
		}
	}

	// An output that has an end yet is told whole; `truncate`: without its middle.
	result(truncate) {
		const isLong = truncate && this.output.length > OUTPUT_MAX;
		const output = isLong ? `${this.output.slice(0, OUTPUT_MAX / 2)}\n[... truncated]\n${this.output.slice(-OUTPUT_MAX / 2)}`
			: this.output;
		const { id: session_id, command = "", status } = this;
		return { session_id, command, status, output: this.isBusy ? "" : output, console: [], exit_code: this.exitCode };
	}
}

class Terminals {
	constructor({ user, environment, maxSessions }) {
		Object.assign(this, { home: user.home, environment, max: maxSessions, all: new Map() });
	}

	create(id, directory) {
		const idle = [...this.all.values()].filter(({ isBusy }) => !isBusy).sort((a, b) => a.used - b.used);
		if (this.all.size >= this.max && !idle.length)
			throw new HttpError(400, `Maximum number of sessions (${this.max}) reached`);
		if (this.all.size >= this.max)
			this.all.delete(idle[0].id);
		const terminal = new Terminal(id, directory ?? this.home);
		this.all.set(terminal.id, terminal);
		return terminal;
	}

	find(id) {
		const terminal = this.all.get(id);
		if (!terminal)
			throw new HttpError(404, `Session not found: ${id}`);
		terminal.used = Date.now();
		return terminal;
	}
}

function until(terminal, seconds) {
	let timer;
	const late = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000)));
	return Promise.race([terminal.ended, late]).finally(() => clearTimeout(timer));
}

function checkCommand({ command }) {
	if (command.includes("\n"))
		return "ErrorObservation: cannot execute multiple commands at once";
	return command.length > LINE_MAX ? "ErrorObservation: the line is too long" : "";
}

async function exec(terminals, req, res) {
	const request = await jsonBody(req, EXEC);
	const terminal = request.id ? terminals.find(request.id) : terminals.create();
	const complaint = checkCommand(request) || (terminal.isBusy ? "'ErrorObservation' object has no attribute 'metadata'" : "");
	if (complaint) {
		terminal.output += complaint;
		sendJson(res, 200, succeeded({ ...terminal.result(false), output: complaint, status: "completed", exit_code: -1 }));
		return;
	}
	terminal.directory = request.exec_dir ?? terminal.directory;
	await terminal.run(request.command, terminals.environment);
	if (!request.async_mode)
		await (request.timeout ? until(terminal, request.timeout) : terminal.ended);
	sendJson(res, 200, succeeded(terminal.result(request.truncate ?? true)));
}

async function view(terminals, req, res) {
	sendJson(res, 200, succeeded(terminals.find((await jsonBody(req, OF_SESSION)).id).result(false)));
}

async function wait(terminals, req, res) {
	const { id, seconds, max_wait_seconds } = await jsonBody(req, WAIT);
	const terminal = terminals.find(id);
	await until(terminal, seconds ?? max_wait_seconds ?? 30);
	sendJson(res, 200, succeeded({ status: terminal.status }));
}

async function kill(terminals, req, res) {
	const terminal = terminals.find((await jsonBody(req, OF_SESSION)).id);
	terminal.end();
	sendJson(res, 200, succeeded({ status: terminal.status, exit_code: terminal.exitCode, returncode: terminal.exitCode }));
}

async function create(terminals, req, res) {
	const { id, exec_dir } = await jsonBody(req, CREATE);
	const { id: session_id, directory: working_dir } = terminals.all.get(id) ?? terminals.create(id, exec_dir);
	sendJson(res, 200, succeeded({ session_id, working_dir }));
}

function remove(terminals, req, res) {
	const id = decodeURIComponent(req.url.split("/")[4]);
	terminals.find(id).end();
	terminals.all.delete(id);
	sendJson(res, 200, succeeded(null));
}

export function shellRoutes(sandbox) {
	const terminals = new Terminals(sandbox);
	return {
		"/v1/shell/exec": { POST: (req, res) => exec(terminals, req, res) },
		"/v1/shell/view": { POST: (req, res) => view(terminals, req, res) },
		"/v1/shell/wait": { POST: (req, res) => wait(terminals, req, res) },
		"/v1/shell/kill": { POST: (req, res) => kill(terminals, req, res) },
		"/v1/shell/sessions/create": { POST: (req, res) => create(terminals, req, res) },
		"/v1/shell/sessions/*": { DELETE: (req, res) => remove(terminals, req, res) },
	};
}
