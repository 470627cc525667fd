// One command that runs, or has run: a bash of its own, in the home directory.
import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import os from "node:os";

import { launchWithPipes } from "../../lib/spawn.mjs";
import { Output } from "./output.mjs";

const FROM_A_SIGNAL = 128;
const CANNOT_RUN = 126;

export class Execution {
	// place: { home, env }; shell: a Shell, or none.
	constructor(place, { command, shell, hasStdin = false }) {
		Object.assign(this, { place, command, shell, hasStdin });
		this.id = `exec_${randomBytes(8).toString("hex")}`;
		this.status = "queued";
		this.outputs = { stdout: new Output(), stderr: new Output() };
		this.changes = new EventEmitter().setMaxListeners(0);
	}

	start() {
		const run = () => this.run().catch((error) => this.fail(error));
		return this.shell ? this.shell.enqueue(run) : run();
	}

	async run() {
		const script = this.shell ? this.shell.wrap(this.command) : this.command;
		const settings = { cwd: this.place.home, env: this.place.env, detached: true };
		const running = await launchWithPipes(["/bin/bash", "-c", script], settings, this.hasStdin);
		Object.assign(this, { child: running.child, stdin: running.stdin });
		const isOver = [once(running.child, "exit"), this.keep(running.stdout, "stdout"), this.keep(running.stderr, "stderr")];
		this.stdin?.on("error", () => {});
		this.change({ status: "running" });
		// Over when the shell has ended and nobody holds its output any more.
		const [[code, signal]] = await Promise.all(isOver);
		this.stdin?.destroy();
		this.change({ status: "completed", exitStatus: code ?? FROM_A_SIGNAL + os.constants.signals[signal] });
	}

	keep(stream, name) {
		stream.on("error", () => {});
		stream.on("data", (chunk) => {
			this.outputs[name].add(chunk);
			this.changes.emit("change");
		});
		return once(stream, "close");
	}

	fail(error) {
		this.outputs.stderr.add(Buffer.from(`${error.message}\n`));
		this.change({ status: "completed", exitStatus: CANNOT_RUN });
	}

	change(members) {
		Object.assign(this, members);
		this.changes.emit("change");
	}

	get isCompleted() {
		return this.status === "completed";
	}

	signal(name, isGroup) {
		if (this.status === "running")
			process.kill(isGroup ? -this.child.pid : this.child.pid, name);
	}
}
