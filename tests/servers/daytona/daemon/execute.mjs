// POST /process/execute: a shell reads the command from its standard input; what it all printed comes at its end.
import { once } from "node:events";

import { reason } from "../../lib/oserror.mjs";
import { readRequest, sendGoJson } from "./json.mjs";
import { Refused } from "./refused.mjs";
import { startShell } from "./shell.mjs";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

async function read(req) {
	const request = await readRequest(req, { command: "string", timeout: "seconds", cwd: "string", envs: "texts" });
	if (!request.command?.trim())
		throw new Refused(400, "command cannot be empty or whitespace-only");
	const wrong = Object.keys(request.envs ?? {}).find((name) => !NAME.test(name));
	if (wrong !== undefined)
		throw new Refused(400, `invalid environment variable name: '${wrong}'`);
	return request;
}

async function outputOf(stream) {
	const pieces = [];
	stream.on("data", (piece) => pieces.push(piece));
	stream.on("error", () => {});
	await once(stream, "close");
	return Buffer.concat(pieces).toString("utf8");
}

function killGroup({ pid }) {
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// It ended by itself.
	}
}

function limit(child, seconds) {
	const state = { isOver: false };
	if (!seconds)
		return state;
	const timer = setTimeout(() => {
		state.isOver = true;
		killGroup(child);
	}, seconds * 1000);
	child.once("exit", () => clearTimeout(timer));
	return state;
}

// Whoever holds the output is waited for, whether or not the client still is.
export async function execute(context, req, res) {
	const { command, timeout, cwd, envs } = await read(req);
	let shell;
	try {
		shell = await startShell(context.shell, { cwd: cwd || context.workDir, env: { ...process.env, ...envs }, merged: true });
	} catch (error) {
		return sendGoJson(res, 200, { exitCode: -1, result: `fork/exec ${context.shell}: ${reason(error)}` });
	}
	const time = limit(shell.child, timeout);
	shell.stdin.on("error", () => {});
	shell.stdin.end(command);
	const [[code], result] = await Promise.all([once(shell.child, "exit"), outputOf(shell.stdout)]);
	if (time.isOver)
		throw new Refused(408, "command execution timeout");
	return sendGoJson(res, 200, { exitCode: code ?? -1, result });
}
