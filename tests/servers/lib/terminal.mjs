// Commands on a terminal, through the program pty (tests/servers/native/pty.c).
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";

const PTY = "/run/daemon/programs/pty";
const CONTROL = 3;

// The first line on the control channel is the command's process number.
async function pidFrom(control) {
	const [line] = await once(control, "data");
	return Number(line.toString());
}

// { child, pid, input, output, resize }
export async function launchOnTerminal(argv, settings, size) {
	if (!fs.existsSync(PTY))
		throw new Error("the test server's program pty is not built: make test-servers");
	const child = spawn(PTY, [String(size.cols ?? 80), String(size.rows ?? 24), ...argv],
		{ ...settings, stdio: ["pipe", "pipe", "inherit", "pipe"] });
	const control = child.stdio[CONTROL];
	control.on("error", () => {});
	const pid = await Promise.race([
		pidFrom(control),
		once(child, "error").then(([error]) => Promise.reject(error)),
	]);
	const resize = ({ cols = 0, rows = 0 }) => control.write(`${cols} ${rows}\n`);
	return { child, pid, input: child.stdin, output: child.stdout, resize };
}
