// What a command says, kept on disk: it can be read from any offset, while it grows and afterwards, any number of times.
import fs from "node:fs";

const PIECE = 256 << 10;

export class Spool {
	constructor(file) {
		this.fd = fs.openSync(file, "w+", 0o600);
		fs.unlinkSync(file);
		this.size = 0;
		this.isOver = false;
		this.waiters = new Set();
	}

	wake() {
		this.waiters.forEach((go) => go());
		this.waiters.clear();
	}

	append(chunk) {
		fs.writeSync(this.fd, chunk, 0, chunk.length, this.size);
		this.size += chunk.length;
		this.wake();
	}

	end() {
		this.isOver = true;
		this.wake();
	}

	// Until more has come, it is over, or `call`'s client has gone.
	more(call) {
		return new Promise((resolve) => {
			this.waiters.add(resolve);
			call.onOver = () => (this.waiters.delete(resolve), resolve());
		});
	}

	async* read(offset, call) {
		for (let at = offset; !call.isOver;) {
			if (at < this.size) {
				const piece = Buffer.alloc(Math.min(PIECE, this.size - at));
				fs.readSync(this.fd, piece, 0, piece.length, at);
				at += piece.length;
				yield piece;
			} else if (this.isOver) {
				return;
			} else {
				await this.more(call);
			}
		}
	}
}
