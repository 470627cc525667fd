// POST /execute: one command, from its start to its end.
import { sendJson } from "../../lib/http.mjs";
import { checkMembers, checkRunConfig, readObject } from "../input.mjs";
import { invalid, typed } from "../failure.mjs";
import { Command } from "./command.mjs";

const TIMEOUT_S = 60;
const REQUEST = {
	command: "string!", timeout: "integer", shell: "string", env: "texts", cwd: "string", run_config: "object",
};

export function checkExecute(body) {
	const wanted = checkMembers(body, REQUEST);
	if (wanted.run_config && (wanted.env || wanted.cwd !== undefined))
		throw typed(400, "InvalidRequest", "run_config cannot be combined with env or cwd");
	if (wanted.command.includes("\0"))
		throw invalid(["body", "command"], "command must not contain NUL");
	checkRunConfig(wanted.run_config);
	return wanted;
}

// What outlives its connection goes on. How much output the vendor keeps is not known, but that nobody is told of the rest.
export async function execute(sandbox, req, res) {
	const wanted = checkExecute(await readObject(req));
	const { timeout = TIMEOUT_S } = wanted;
	if (timeout < 1)
		throw invalid(["body", "timeout"], "Input should be greater than 0");
	const said = { stdout: "", stderr: "" };
	let timer;
	const code = await new Promise((resolve, reject) => {
		const add = (stream, text) => (said[stream] += text.slice(0, sandbox.outputMax - said[stream].length));
		Command.start(sandbox, { ...wanted, hasInput: false }, { text: add, ended: resolve }).then((command) => {
			timer = setTimeout(() => {
				command.kill();
				reject(typed(408, "CommandTimeout", `Command timed out after ${timeout}s`));
			}, timeout * 1000);
		}, reject);
	}).finally(() => clearTimeout(timer));
	sendJson(res, 200, { ...said, exit_code: code });
}
