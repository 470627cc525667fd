// Connect's envelopes: a flags byte, a length of four bytes, big endian, and the message.
import { codecs, decodeMessage, gunzip, gzip } from "./codec.mjs";
import { RpcError } from "./rpc_error.mjs";

const COMPRESSED = 0x01;
const END_OF_STREAM = 0x02;
const HEADER = 5;

// Yields { flags, payload } from a stream of chunks that have nothing to do with the envelopes' bounds.
async function* envelopes(chunks) {
	let held = Buffer.alloc(0);
	for await (const chunk of chunks) {
		held = held.length ? Buffer.concat([held, chunk]) : chunk;
		while (held.length >= HEADER && held.length >= HEADER + held.readUInt32BE(1)) {
			const end = HEADER + held.readUInt32BE(1);
			yield { flags: held[0], payload: held.subarray(HEADER, end) };
			held = held.subarray(end);
		}
	}
	if (held.length)
		throw new RpcError("invalid_argument", "protocol error: incomplete envelope: unexpected EOF");
}

export async function* readMessages(chunks, { codec, isCompressible }, message) {
	for await (const { flags, payload } of envelopes(chunks)) {
		if (flags & ~COMPRESSED)
			throw new RpcError("invalid_argument", `protocol error: invalid envelope flags ${flags}`);
		if (flags & COMPRESSED && !isCompressible)
			throw new RpcError("internal", "protocol error: sent compressed message without compression support");
		yield decodeMessage(codec, message, flags & COMPRESSED ? gunzip(payload) : payload);
	}
}

export class EnvelopeWriter {
	constructor(res, { codec, isCompressed, message }) {
		Object.assign(this, { res, codec, isCompressed, message });
		this.isEnded = false;
		this.gone = new Promise((resolve) => res.once("close", resolve));
	}

	// False: the reader is behind; wait for drained().
	send(value) {
		return this.isEnded || this.res.write(this.frame(0, codecs[this.codec].encode(this.message, value)));
	}

	// Also when nobody reads any more.
	drained() {
		this.draining ??= new Promise((resolve) => {
			this.res.once("drain", resolve);
			this.gone.then(resolve);
		}).finally(() => (this.draining = undefined));
		return this.draining;
	}

	frame(flags, bytes) {
		const payload = this.isCompressed ? gzip(bytes) : bytes;
		const header = Buffer.alloc(HEADER);
		header[0] = flags | (this.isCompressed ? COMPRESSED : 0);
		header.writeUInt32BE(payload.length, 1);
		return Buffer.concat([header, payload]);
	}

	end(error) {
		if (this.isEnded)
			return;
		this.isEnded = true;
		this.res.end(this.frame(END_OF_STREAM, Buffer.from(JSON.stringify(error ? { error: error.toJson() } : {}))));
	}
}
