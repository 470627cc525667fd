// The shell that reads commands, and how it is started.
import fs from "node:fs";

import { inputPipe, outputPipe } from "../../lib/pipes.mjs";
import { launch } from "../../lib/spawn.mjs";

const LIKED = ["/usr/bin/zsh", "/bin/zsh", "/usr/bin/bash", "/bin/bash"];

// The first that the table of login shells has.
export function findShell() {
	const known = fs.readFileSync("/etc/shells", "utf8").split("\n").filter((line) => line && !line.startsWith("#"));
	return LIKED.find((shell) => known.some((line) => line.includes(shell))) ?? process.env.SHELL ?? "sh";
}

// { child, stdin, stdout, stderr }: `merged`: the same pipe for both outputs, which is stdout.
export async function startShell(shell, { cwd, env, merged }) {
	const stdin = inputPipe();
	const stdout = outputPipe();
	const stderr = merged ? stdout : outputPipe();
	try {
		const child = await launch([shell], { cwd, env, detached: true }, [stdin.fd, stdout.fd, stderr.fd]);
		return { child, stdin: stdin.stream, stdout: stdout.stream, stderr: stderr.stream };
	} catch (error) {
		[stdin, stdout].forEach(({ stream }) => stream.destroy());
		throw error;
	} finally {
		new Set([stdin.fd, stdout.fd, stderr.fd]).forEach((fd) => fs.closeSync(fd));
	}
}
