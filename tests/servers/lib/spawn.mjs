// Starts a command as a user, with pipes or on a terminal.
import { spawn } from "node:child_process";
import fs from "node:fs";

import { inputPipe, outputPipe } from "./pipes.mjs";
import { isRoot } from "./users.mjs";

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
