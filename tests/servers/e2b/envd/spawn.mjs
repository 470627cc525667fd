// Starts a command as a user, with pipes or on a terminal.
import { spawn } from "node:child_process";
import fs from "node:fs";

import { inputPipe, outputPipe } from "../../lib/pipes.mjs";
import { isRoot } from "./users.mjs";

// As the vendor's daemon does it: a command that does not exist is a status of 127, not a failure to start.
const WRAPPER = ["/bin/sh", "-c", 'exec "${@}"', "--"];

export const wrapped = (config) => [...WRAPPER, config.cmd ?? "", ...(config.args ?? [])];

export function options(user, cwd, env) {
	return { cwd, env, detached: true, ...(isRoot ? { uid: user.uid, gid: user.gid } : {}) };
}

// Resolves when the process runs; rejects with why it could not be started.
function started(child) {
	return new Promise((resolve, reject) => {
		child.once("spawn", () => resolve(child));
		child.once("error", reject);
	});
}

export async function launch(argv, settings, stdio) {
	return started(spawn(argv[0], argv.slice(1), { ...settings, stdio }));
}

// { child, stdin or null, stdout, stderr }
export async function launchWithPipes(argv, settings, hasStdin) {
	const stdin = hasStdin ? inputPipe() : null;
	const stdout = outputPipe();
	const stderr = outputPipe();
	const theirs = [stdin?.fd, stdout.fd, stderr.fd];
	try {
		const child = await launch(argv, settings, [stdin?.fd ?? "ignore", stdout.fd, stderr.fd]);
		return { child, stdin: stdin?.stream ?? null, stdout: stdout.stream, stderr: stderr.stream };
	} catch (error) {
		[stdin, stdout, stderr].forEach((pipe) => pipe?.stream.destroy());
		throw error;
	} finally {
		theirs.filter((fd) => fd !== undefined).forEach((fd) => fs.closeSync(fd));
	}
}
