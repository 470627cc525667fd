// One command of a bash session: a new process each, its output kept as bytes, its states.
import { randomUUID } from "node:crypto";
import os from "node:os";

import { launchWithPipes } from "../../lib/spawn.mjs";

class Kept {
	constructor(stream, changed) {
		this.chunks = [];
		this.length = 0;
		stream.on("data", (chunk) => {
			this.chunks.push(chunk);
			this.length += chunk.length;
			changed();
		});
		stream.on("error", () => {});
	}

	// As text, which has U+FFFD for whatever is not UTF-8.
	textFrom(offset) {
		const all = Buffer.concat(this.chunks);
		this.chunks = [all];
		return all.subarray(offset).toString("utf8");
	}
}

const NOTHING = { length: 0, textFrom: () => "" };

export class Command {
	constructor(text) {
		this.id = randomUUID();
		this.text = text;
		this.status = "running";
		this.exitCode = null;
		this.out = NOTHING;
		this.err = NOTHING;
		this.waiting = new Set();
		this.ended = new Promise((resolve) => (this.sayEnded = resolve));
	}

	// settings: cwd and env. What cannot start is "killed": the service's word for a failure of its own, too.
	async start(settings, hardTimeoutS) {
		let started;
		try {
			started = await launchWithPipes(["/bin/bash", "-c", this.text], { ...settings, detached: true }, true);
		} catch {
			return this.end("killed", null);
		}
		this.follow(started);
		if (hardTimeoutS !== undefined && hardTimeoutS !== null)
			this.timer = setTimeout(() => this.stop("timed_out", "SIGKILL"), hardTimeoutS * 1000);
		return undefined;
	}

	follow({ child, stdin, stdout, stderr }) {
		this.pid = child.pid;
		this.input = stdin;
		this.input.on("error", () => {});
		[this.out, this.err] = [stdout, stderr].map((stream) => new Kept(stream, () => this.changed()));
		this.open = 2;
		[stdout, stderr].forEach((stream) => stream.once("close", () => this.closed()));
		child.once("exit", (code, signal) => this.exited(code, signal));
	}

	get isRunning() {
		return this.status === "running";
	}

	get info() {
		return { command_id: this.id, command: this.text, status: this.status, exit_code: this.exitCode };
	}

	// ---- Its end -------------------------------------------------------------------------------------

	exited(code, signal) {
		this.code = code ?? -os.constants.signals[signal];
		this.endIfOver();
	}

	closed() {
		this.open--;
		this.endIfOver();
	}

	// Whoever still holds its output is waited for, unless it was stopped.
	endIfOver() {
		if (this.code === undefined || (this.open > 0 && !this.stopped))
			return;
		this.end(this.stopped ?? "completed", this.stopped ? null : this.code);
	}

	end(status, exitCode) {
		if (!this.isRunning)
			return;
		clearTimeout(this.timer);
		this.status = status;
		this.exitCode = exitCode;
		this.input?.destroy();
		this.sayEnded();
		this.changed();
	}

	// All that it started, as far as that stayed in its group.
	stop(status, signal) {
		this.stopped = status;
		try {
			process.kill(-this.pid, signal);
		} catch {
			// It is gone.
		}
	}

	// ---- Looking at it -------------------------------------------------------------------------------

	changed() {
		this.waiting.forEach((go) => go());
	}

	hasMore(offset, errOffset) {
		return !this.isRunning || this.out.length > offset || this.err.length > errOffset;
	}

	// Until there is more than that, it ends, or the time is over.
	wait(offset, errOffset, seconds) {
		if (this.hasMore(offset, errOffset))
			return undefined;
		return new Promise((resolve) => {
			const go = () => (clearTimeout(timer), this.waiting.delete(go), resolve());
			const timer = setTimeout(go, seconds * 1000);
			this.waiting.add(go);
		});
	}

	write(text) {
		return new Promise((resolve, reject) => this.input.write(text, (error) => (error ? reject(error) : resolve())));
	}
}
