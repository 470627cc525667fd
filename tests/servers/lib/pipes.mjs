// Real pipes for commands. Node gives its children sockets, which /dev/stdout cannot be opened again on; so these are
// FIFOs without a name, made a batch at a time.
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";

const BATCH = 32;
const LOW = 8;
const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

let folder;
let made = 0;
let isFilling = false;
const spare = [];

function nextNames() {
	return Array.from({ length: BATCH }, () => path.join(folder, String(made++)));
}

export function preparePipes(where) {
	folder = where;
	fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
	fillNow();
}

function fillNow() {
	const names = nextNames();
	execFileSync("mkfifo", ["-m", "600", ...names]);
	spare.push(...names);
}

function fillSoon() {
	if (isFilling)
		return;
	isFilling = true;
	const names = nextNames();
	execFile("mkfifo", ["-m", "600", ...names], (error) => {
		isFilling = false;
		if (!error)
			spare.push(...names);
	});
}

function takeName() {
	if (!spare.length)
		fillNow();
	else if (spare.length < LOW)
		fillSoon();
	return spare.shift();
}

// { stream, fd }: what we read from, and the end for the child, to be closed once it runs.
export function outputPipe() {
	const name = takeName();
	const reading = fs.openSync(name, O_RDONLY | O_NONBLOCK);
	const fd = fs.openSync(name, O_WRONLY);
	fs.unlinkSync(name);
	return { stream: new net.Socket({ fd: reading, readable: true, writable: false }), fd };
}

// The child's end of an input must block, so it is opened when there is a writer already.
export function inputPipe() {
	const name = takeName();
	const first = fs.openSync(name, O_RDONLY | O_NONBLOCK);
	const writing = fs.openSync(name, O_WRONLY | O_NONBLOCK);
	const fd = fs.openSync(name, O_RDONLY);
	fs.closeSync(first);
	fs.unlinkSync(name);
	return { stream: new net.Socket({ fd: writing, readable: false, writable: true }), fd };
}
