// One command: a process with all it starts, its output as text, its end.
import fs from "node:fs";
import { StringDecoder } from "node:string_decoder";

import { describe, reason } from "../../lib/oserror.mjs";
import { record } from "../../lib/record.mjs";
import { launchWithPipes, options } from "../../lib/spawn.mjs";
import { launchOnTerminal } from "../../lib/terminal.mjs";
import { findUser } from "../../lib/users.mjs";
import { typed } from "../failure.mjs";

const commandError = (message) => typed(500, "CommandError", message);

function userFor(name) {
	const user = findUser(name);
	if (!user)
		throw commandError(`unknown user ${name}`);
	return user;
}

function checkDirectory(directory) {
	const stat = fs.statSync(directory, { throwIfNoEntry: false });
	if (!stat?.isDirectory())
		throw commandError(describe("chdir", directory, { code: stat ? "ENOTDIR" : "ENOENT" }));
	return directory;
}

// run_config of the request before that of the sandbox; `env` and `cwd` are its old spelling.
function settings(sandbox, request) {
	const own = request.run_config ?? { env_vars: request.env, work_dir: request.cwd };
	const user = userFor(own.user ?? sandbox.config?.user ?? sandbox.defaultUser);
	const directory = checkDirectory(own.work_dir ?? sandbox.config?.work_dir ?? user.home);
	const environment = {
		PATH: process.env.PATH, HOME: user.home, USER: user.name, LOGNAME: user.name,
		...sandbox.environment, ...sandbox.config?.env_vars, ...own.env_vars,
	};
	record("env", Object.entries(environment).map((pair) => pair.join("=")).join("\0"));
	return options(user, directory, environment);
}

async function launch(sandbox, { command, shell = "/bin/bash", pty, ...request }) {
	const argv = [shell, "-c", command];
	const how = settings(sandbox, request);
	record("argv", argv.join("\0"));
	try {
		if (!pty)
			return await launchWithPipes(argv, how, request.hasInput);
		const { child, pid, input, output } = await launchOnTerminal(argv, how, {});
		return { child, pid, stdin: input, stdout: output };
	} catch (error) {
		throw commandError(`fork/exec ${shell}: ${reason(error)}`);
	}
}

export class Command {
	// request: { command, shell, pty, hasInput, env, cwd, run_config }. text(stream, string): its output. ended(code): once,
	// when it ended and nobody holds its output any more; -1 where a signal ended it.
	static async start(sandbox, request, { text, ended }) {
		const command = new Command();
		command.launched = await launch(sandbox, request);
		command.pid = command.launched.pid ?? command.launched.child.pid;
		command.follow(text, ended);
		return command;
	}

	follow(text, ended) {
		const { child, stdin, stdout, stderr } = this.launched;
		const outputs = Object.entries({ stdout, stderr }).filter(([, stream]) => stream);
		let open = outputs.length + 1;
		let code;
		const close = () => --open || ended(code);
		stdin?.on("error", () => {});
		child.once("exit", (status) => (code = status ?? -1, close()));
		for (const [name, stream] of outputs) {
			const decoder = new StringDecoder("utf8");
			stream.on("data", (bytes) => text(name, decoder.write(bytes)));
			stream.on("error", () => {});
			stream.once("close", () => (text(name, decoder.end()), close()));
		}
	}

	write(text) {
		record("stdin", text);
		this.launched.stdin?.write(text);
	}

	closeInput() {
		this.launched.stdin?.end();
	}

	kill() {
		try {
			process.kill(-this.pid, "SIGKILL");
		} catch {
			// It is gone.
		}
	}
}
