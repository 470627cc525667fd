// One process that runs: its output to all who listen, its input, its end.

function* pieces(chunk, size) {
	for (let at = 0; at < chunk.length; at += size)
		yield chunk.subarray(at, at + size);
}

export class Running {
	// outputs: [{ kind: "stdout", stream, chunkSize }]; ended: called with code and signal, once, when all is over.
	constructor({ child, pid, config, tag, outputs, input, inputKind, resize, ended }) {
		Object.assign(this, { child, pid, config, tag, outputs, input, inputKind, resize, ended });
		this.listeners = new Set();
		this.open = outputs.length;
		this.isReleased = false;
		child.once("exit", (code, signal) => this.exited(code, signal));
		input?.on("error", () => {});
	}

	begin() {
		for (const output of this.outputs) {
			output.stream.on("data", (chunk) => this.deliver(output, chunk));
			output.stream.on("error", () => {});
			output.stream.once("close", () => this.outputClosed());
		}
	}

	// A listener that is behind holds up the process, and so everybody else.
	deliver({ kind, stream, chunkSize }, chunk) {
		const behind = new Set();
		for (const piece of pieces(chunk, chunkSize)) {
			for (const listener of this.listeners)
				listener.data({ [kind]: piece }) || behind.add(listener);
		}
		if (!behind.size)
			return;
		stream.pause();
		Promise.all([...behind].map((listener) => listener.drained())).then(() => stream.resume());
	}

	outputClosed() {
		this.open--;
		this.finishIfOver();
	}

	exited(code, signal) {
		this.status = { code, signal };
		if (this.isReleased)
			setImmediate(() => this.outputs.forEach(({ stream }) => stream.destroy()));
		this.finishIfOver();
	}

	finishIfOver() {
		if (!this.status || this.open > 0)
			return;
		this.input?.destroy();
		this.ended(this.status.code, this.status.signal);
	}

	// After this the end does not wait for others that hold its output.
	kill(signal) {
		this.isReleased = true;
		process.kill(this.pid, signal);
	}

	write(bytes) {
		return new Promise((resolve, reject) => this.input.write(bytes, (error) => (error ? reject(error) : resolve())));
	}

	// The pipe is closed as soon as it has taken what was written before.
	closeInput() {
		this.input?.end();
		this.input = null;
	}
}
