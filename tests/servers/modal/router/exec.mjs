// One command that was started in the sandbox: its input by offsets, its outputs kept, its end.
import os from "node:os";

import { GrpcError, Status } from "../../lib/grpc.mjs";
import { record } from "../../lib/record.mjs";
import { Spool } from "./spool.mjs";

const lost = () => new GrpcError(Status.FAILED_PRECONDITION, "the process does not read its input any more");

export class Exec {
	// started: { child, stdin, stdout, stderr }; files: where the outputs are kept
	constructor({ child, stdin, stdout, stderr }, files, timeoutS) {
		Object.assign(this, { child, stdin, written: 0, isClosed: false, stream: undefined });
		this.outputs = [this.keep(stdout, files[0]), this.keep(stderr, files[1])];
		stdin.on("error", () => (this.isClosed = true));
		this.over = new Promise((resolve) => child.once("exit", (code, signal) => resolve(this.ended(code, signal))));
		if (timeoutS)
			this.timer = setTimeout(() => this.kill(), timeoutS * 1000);
	}

	keep(stream, file) {
		const spool = new Spool(file);
		stream?.on("data", (chunk) => spool.append(chunk));
		stream?.on("error", () => {});
		stream?.once("close", () => spool.end());
		if (!stream)
			spool.end();
		return spool;
	}

	ended(code, signal) {
		clearTimeout(this.timer);
		this.end = signal ? { signal: os.constants.signals[signal] } : { code };
		return this.end;
	}

	kill() {
		try {
			process.kill(-this.child.pid, "SIGKILL");
		} catch {
			// It has ended by itself.
		}
	}

	// ---- Input ---------------------------------------------------------------------------------------

	// Offsets say how much was taken before: neither a gap nor a repetition.
	checkOffset(offset) {
		if (this.isClosed)
			throw lost();
		if (offset !== this.written)
			throw new GrpcError(Status.FAILED_PRECONDITION, `stdin offset is ${this.written}, got ${offset}`);
	}

	async write(data) {
		if (!data.length)
			return;
		record("stdin", data);
		this.written += data.length;
		await new Promise((resolve, reject) => this.stdin.write(data, (error) => (error ? reject(lost()) : resolve())));
	}

	close() {
		this.isClosed = true;
		this.stdin.end();
	}

	// Only one stream feeds it; a later one, and whoever asks how far it is, takes its place.
	claim() {
		this.evict();
		const claim = { isEvicted: false };
		this.stream = claim;
		return claim;
	}

	evict() {
		if (this.stream)
			this.stream.isEvicted = true;
		this.stream = undefined;
	}
}
