// Stops every process of a PID namespace, and lets them go on.
import fs from "node:fs";

function namespaceOf(pid) {
	try {
		return fs.readlinkSync(`/proc/${pid}/ns/pid`);
	} catch {
		return undefined;
	}
}

function isStopped(pid) {
	try {
		return /\) [TtZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"));
	} catch {
		return true;
	}
}

function signal(pid, name) {
	try {
		process.kill(pid, name);
	} catch {
		// It is gone.
	}
}

function members(namespace) {
	return fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number)
		.filter((pid) => namespaceOf(pid) === namespace);
}

// Those that were stopped already stay so. Returns how to let the others go on.
export function freeze(firstPid) {
	const namespace = namespaceOf(firstPid);
	const stopped = new Set();
	for (let found = true; found;) {
		const running = members(namespace).filter((pid) => !stopped.has(pid) && !isStopped(pid));
		running.forEach((pid) => signal(pid, "SIGSTOP"));
		running.forEach((pid) => stopped.add(pid));
		found = running.length > 0;
	}
	// Children first: no parent is to see one that is stopped.
	return () => [...stopped].sort((a, b) => b - a).forEach((pid) => signal(pid, "SIGCONT"));
}
