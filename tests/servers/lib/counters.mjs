// Counts requests and the bytes of their bodies by kind, and what went over the sockets in all.

const empty = () => ({ requests: 0, bytes_in: 0, bytes_out: 0 });

export class Counters {
	constructor() {
		this.sockets = new Set();
		this.reset();
	}

	reset() {
		this.kinds = {};
		this.wire = { connections: 0, wire_in: 0, wire_out: 0 };
		for (const socket of this.sockets)
			socket.countedFrom = { read: socket.bytesRead, written: socket.bytesWritten };
	}

	// The counts of one kind; the caller adds to them while the request lasts.
	begin(kind) {
		const counts = (this.kinds[kind] ??= empty());
		counts.requests++;
		return counts;
	}

	watch(server) {
		server.on("connection", (socket) => {
			this.wire.connections++;
			this.sockets.add(socket);
			socket.countedFrom = { read: 0, written: 0 };
			socket.once("close", () => {
				this.sockets.delete(socket);
				this.addSocket(this.wire, socket);
			});
		});
	}

	addSocket(wire, socket) {
		wire.wire_in += socket.bytesRead - socket.countedFrom.read;
		wire.wire_out += socket.bytesWritten - socket.countedFrom.written;
	}

	report() {
		const total = Object.values(this.kinds).reduce((sum, one) => ({
			requests: sum.requests + one.requests,
			bytes_in: sum.bytes_in + one.bytes_in,
			bytes_out: sum.bytes_out + one.bytes_out,
		}), empty());
		const wire = { ...this.wire };
		this.sockets.forEach((socket) => this.addSocket(wire, socket));
		return { kinds: this.kinds, total: { ...total, ...wire } };
	}
}
