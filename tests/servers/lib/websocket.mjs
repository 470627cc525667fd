// RFC 6455, the server's side: the handshake and messages of text, as strict as the RFC. Extensions, so compression too,
// are not agreed to.
import { createHash } from "node:crypto";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const Opcode = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 };
const MAX_MESSAGE = 16 << 20;
const MAX_CONTROL = 125;

export const CloseCode = {
	NORMAL: 1000, GOING_AWAY: 1001, PROTOCOL: 1002, UNSUPPORTED: 1003, NOT_TEXT: 1007, TOO_BIG: 1009,
};

class BadFrame extends Error {
	constructor(code, message) {
		super(message);
		this.code = code;
	}
}

// ---- Handshake -------------------------------------------------------------------------------------

const names = (header = "") => header.toLowerCase().split(",").map((name) => name.trim());

// What is wrong with a request to upgrade, or undefined.
export function upgradeComplaint({ method, headers }) {
	if (method !== "GET" || !names(headers.upgrade).includes("websocket") || !names(headers.connection).includes("upgrade"))
		return "websocket: the client is not using the websocket protocol";
	if (headers["sec-websocket-version"] !== "13")
		return "websocket: unsupported version: 13 not found in 'Sec-Websocket-Version' header";
	if (Buffer.from(headers["sec-websocket-key"] ?? "", "base64").length !== 16)
		return "websocket: not a websocket handshake: 'Sec-WebSocket-Key' is not 16 bytes as Base64";
	return undefined;
}

function accept(socket, key) {
	const answer = createHash("sha1").update(key + GUID).digest("base64");
	socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		`Sec-WebSocket-Accept: ${answer}\r\n\r\n`);
}

// ---- Frames ----------------------------------------------------------------------------------------

// { start: of the mask, length: of the payload }; undefined: more bytes are needed.
function extent(bytes) {
	const short = bytes[1] & 0x7f;
	if (short < 126)
		return { start: 2, length: short };
	const start = short === 126 ? 4 : 10;
	if (bytes.length < start)
		return undefined;
	return { start, length: short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) };
}

function checkHead(bytes, { length }) {
	const isControl = (bytes[0] & 0x08) !== 0;
	if (bytes[0] & 0x70)
		throw new BadFrame(CloseCode.PROTOCOL, "RSV bits without an extension");
	if (!(bytes[1] & 0x80))
		throw new BadFrame(CloseCode.PROTOCOL, "MASK not set");
	if (isControl && (length > MAX_CONTROL || !(bytes[0] & 0x80)))
		throw new BadFrame(CloseCode.PROTOCOL, "a control frame that is long or in pieces");
	if (length > MAX_MESSAGE)
		throw new BadFrame(CloseCode.TOO_BIG, "read limit exceeded");
}

// { opcode, isLast, payload, size: of the frame }; undefined: more bytes are needed.
function readFrame(bytes) {
	const found = bytes.length < 2 ? undefined : extent(bytes);
	if (!found)
		return undefined;
	checkHead(bytes, found);
	const begin = found.start + 4;
	const size = begin + found.length;
	if (bytes.length < size)
		return undefined;
	const payload = Buffer.from(bytes.subarray(begin, size));
	for (let i = 0; i < payload.length; i++)
		payload[i] ^= bytes[found.start + (i & 3)];
	return { opcode: bytes[0] & 0x0f, isLast: (bytes[0] & 0x80) !== 0, payload, size };
}

function head(opcode, length) {
	const first = 0x80 | opcode;
	if (length < 126)
		return Buffer.from([first, length]);
	const bytes = Buffer.alloc(length < 65536 ? 4 : 10);
	bytes[0] = first;
	bytes[1] = length < 65536 ? 126 : 127;
	if (length < 65536)
		bytes.writeUInt16BE(length, 2);
	else
		bytes.writeBigUInt64BE(BigInt(length), 2);
	return bytes;
}

function decodeText(bytes) {
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		throw new BadFrame(CloseCode.NOT_TEXT, "invalid UTF-8");
	}
}

// ---- A connection ----------------------------------------------------------------------------------

export class WebSocket {
	// text(string): called for each message. closed(): once, when no more can come or go.
	constructor(req, socket, first, { text, closed }) {
		Object.assign(this, { socket, onText: text, held: Buffer.alloc(0), pieces: undefined });
		accept(socket, req.headers["sec-websocket-key"]);
		socket.setNoDelay(true);
		socket.on("data", (bytes) => this.take(bytes));
		socket.on("error", () => {});
		socket.once("end", () => socket.end());
		socket.once("close", closed);
		this.take(first);
	}

	take(bytes) {
		this.held = this.held.length ? Buffer.concat([this.held, bytes]) : bytes;
		try {
			for (let frame; !this.isClosing && (frame = readFrame(this.held));) {
				this.held = this.held.subarray(frame.size);
				this.serve(frame);
			}
		} catch (error) {
			if (!(error instanceof BadFrame))
				throw error;
			this.close(error.code, error.message);
		}
	}

	serve({ opcode, isLast, payload }) {
		if (opcode === Opcode.CLOSE)
			this.answerClose(payload);
		else if (opcode === Opcode.PING)
			this.write(Opcode.PONG, payload);
		else if (opcode === Opcode.TEXT || opcode === Opcode.CONTINUATION)
			this.addPiece(opcode, isLast, payload);
		else if (opcode !== Opcode.PONG)
			throw new BadFrame(opcode === Opcode.BINARY ? CloseCode.UNSUPPORTED : CloseCode.PROTOCOL, "bad opcode");
	}

	addPiece(opcode, isLast, payload) {
		if ((opcode === Opcode.CONTINUATION) !== (this.pieces !== undefined))
			throw new BadFrame(CloseCode.PROTOCOL, "continuation of nothing, or nothing continued");
		this.pieces = [...(this.pieces ?? []), payload];
		if (this.pieces.reduce((sum, piece) => sum + piece.length, 0) > MAX_MESSAGE)
			throw new BadFrame(CloseCode.TOO_BIG, "read limit exceeded");
		if (!isLast)
			return;
		const whole = Buffer.concat(this.pieces);
		this.pieces = undefined;
		this.onText(decodeText(whole));
	}

	write(opcode, payload) {
		if (!this.isClosing && this.socket.writable)
			this.socket.write(Buffer.concat([head(opcode, payload.length), payload]));
	}

	send(text) {
		this.write(Opcode.TEXT, Buffer.from(text));
	}

	answerClose(payload) {
		this.write(Opcode.CLOSE, payload.subarray(0, 2));
		this.isClosing = true;
		this.socket.end();
	}

	close(code, reason = "") {
		const payload = Buffer.alloc(2);
		payload.writeUInt16BE(code);
		this.write(Opcode.CLOSE, Buffer.concat([payload, Buffer.from(reason).subarray(0, MAX_CONTROL - 2)]));
		this.isClosing = true;
		this.socket.end();
	}
}
