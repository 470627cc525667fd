// multipart/form-data, part by part, without ever holding one.

const BLANK_LINE = Buffer.from("\r\n\r\n");
const MAX_HEADERS = 64 << 10;

export function boundaryOf(contentType) {
	const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^;\s]+))/i.exec(contentType) ?? [];
	return quoted ?? plain;
}

// Bytes from an iterator, looked at before they are taken.
class Lookahead {
	constructor(chunks) {
		this.chunks = chunks;
		this.held = Buffer.alloc(0);
	}

	async more() {
		const { value, done } = await this.chunks.next();
		if (done)
			throw new Error("error reading form: multipart: NextPart: unexpected EOF");
		this.held = this.held.length ? Buffer.concat([this.held, value]) : value;
	}

	take(length) {
		const taken = this.held.subarray(0, length);
		this.held = this.held.subarray(length);
		return taken;
	}

	// What comes before the mark, in pieces, and the mark itself taken away.
	async *until(mark) {
		for (;;) {
			const at = this.held.indexOf(mark);
			if (at >= 0) {
				if (at > 0)
					yield this.take(at);
				this.take(mark.length);
				return;
			}
			const safe = this.held.length - mark.length + 1;
			if (safe > 0)
				yield this.take(safe);
			await this.more();
		}
	}

	async textUntil(mark) {
		let text = "";
		for await (const piece of this.until(mark)) {
			text += piece.toString("latin1");
			if (text.length > MAX_HEADERS)
				throw new Error("error reading form: multipart: message too large");
		}
		return text;
	}
}

// "\" escapes in quotes; the value is a byte string.
function parameter(disposition, name) {
	const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, "i").exec(disposition) ?? [];
	return quoted?.replace(/\\(.)/g, "$1") ?? plain;
}

function described(headers) {
	const [, disposition = ""] = /^content-disposition:\s*(.*)$/im.exec(headers) ?? [];
	return { name: parameter(disposition, "name"), filename: parameter(disposition, "filename") };
}

async function exhaust(body) {
	for await (const piece of body)
		void piece;
}

// From an iterator of chunks. Yields { name, filename, body }; a body not read to its end is skipped.
export async function* parts(chunks, boundary) {
	const input = new Lookahead(chunks);
	input.held = Buffer.from("\r\n");
	const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
	await exhaust(input.until(delimiter));
	for (;;) {
		while (input.held.length < 2)
			await input.more();
		if (input.take(2).toString("latin1") === "--")
			return;
		input.held = Buffer.concat([Buffer.from("\r\n"), input.held]);
		const headers = await input.textUntil(BLANK_LINE);
		const body = input.until(delimiter);
		yield { ...described(headers), body };
		await exhaust(body);
	}
}
