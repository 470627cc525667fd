// What one stream of a command has said so far: bytes inside, text outside.

const NEWLINE = 10;

export class Output {
	constructor() {
		this.chunks = [];
		this.size = 0;
	}

	add(chunk) {
		this.chunks.push(chunk);
		this.size += chunk.length;
	}

	get bytes() {
		this.chunks = [Buffer.concat(this.chunks)];
		return this.chunks[0];
	}

	// { text, isTruncated }: the last lines, and no more than `maxBytes` of them.
	tail(lines, maxBytes) {
		const { bytes } = this;
		let from = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
		for (let left = lines; left > 0 && from >= 0; left--)
			from = from === 0 ? -1 : bytes.lastIndexOf(NEWLINE, from - 1);
		const start = Math.max(from + 1, bytes.length - maxBytes);
		return { text: bytes.toString("utf8", start), isTruncated: start > 0 };
	}

	// What is there from `offset` on, at most `max` bytes and never part of a character but at the end.
	piece(offset, max) {
		const { bytes } = this;
		let end = Math.min(bytes.length, offset + max);
		while (end < bytes.length && end > offset && (bytes[end] & 0xc0) === 0x80)
			end--;
		return bytes.subarray(offset, end);
	}
}
