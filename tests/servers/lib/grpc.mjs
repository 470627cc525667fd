// gRPC over HTTP/2: what the servers here need of it, messages by the tables of protobuf.mjs.
//
// A method is { kind: "unary" | "server stream" | "client stream", input, output }. Its handler gets (call, request) and
// returns the answer; that of a client stream gets an async iterable for `request`; that of a server stream is an async
// generator of answers. call: { headers, path, isOver: set when the client has gone }.
import { whenSent } from "./http.mjs";
import { decode, encode, field, ProtobufError } from "./protobuf.mjs";

export const Status = {
	OK: 0, CANCELLED: 1, UNKNOWN: 2, INVALID_ARGUMENT: 3, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, ALREADY_EXISTS: 6,
	PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8, FAILED_PRECONDITION: 9, ABORTED: 10, OUT_OF_RANGE: 11, UNIMPLEMENTED: 12,
	INTERNAL: 13, UNAVAILABLE: 14, DATA_LOSS: 15, UNAUTHENTICATED: 16,
};

const PREFIX = 5;
const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

export class GrpcError extends Error {
	// trailers: more of them, such as grpc-status-details-bin.
	constructor(code, message, trailers = {}) {
		super(message);
		this.code = code;
		this.trailers = trailers;
	}
}

export const unary = (input, output) => ({ kind: "unary", input, output });
export const serverStream = (input, output) => ({ kind: "server stream", input, output });
export const clientStream = (input, output) => ({ kind: "client stream", input, output });

// ---- Asking for another try --------------------------------------------------------------------------

const RetryPolicy = { retryAfterSecs: field(1, "float") };
const RpcStatus = {
	code: field(1, "uint32"), message: field(2, "string"),
	details: field(3, { typeUrl: field(1, "string"), value: field(2, "bytes") }, { repeated: true }),
};

// What grpc-status-details-bin says when a call is to be made again after so many seconds.
export function retryPolicy(code, seconds) {
	const value = encode(RetryPolicy, { retryAfterSecs: seconds });
	const status = { code, details: [{ typeUrl: "type.googleapis.com/modal.client.RPCRetryPolicy", value }] };
	return encode(RpcStatus, status).toString("base64").replace(/=+$/, "");
}

// ---- Frames ------------------------------------------------------------------------------------------

export function frame(message) {
	const prefix = Buffer.alloc(PREFIX);
	prefix.writeUInt32BE(message.length, 1);
	return Buffer.concat([prefix, message]);
}

function checkPrefix(bytes, maxSize) {
	if (bytes[0] !== 0)
		throw new GrpcError(Status.UNIMPLEMENTED, "a compressed message without grpc-encoding");
	if (bytes.readUInt32BE(1) > maxSize) {
		throw new GrpcError(Status.RESOURCE_EXHAUSTED,
			`Received message larger than max (${bytes.readUInt32BE(1)} vs. ${maxSize})`);
	}
}

// The messages of a stream of bytes, one after the other.
export async function* messages(stream, maxSize) {
	let parts = [];
	let have = 0;
	let need = PREFIX;
	for await (const chunk of stream) {
		parts.push(chunk);
		have += chunk.length;
		while (have >= need) {
			const bytes = Buffer.concat(parts);
			if (need === PREFIX)
				checkPrefix(bytes, maxSize);
			need = PREFIX + bytes.readUInt32BE(1);
			parts = [bytes];
			if (have < need)
				break;
			yield bytes.subarray(PREFIX, need);
			parts = [bytes.subarray(need)];
			have -= need;
			need = PREFIX;
		}
	}
	if (have > 0)
		throw new GrpcError(Status.INTERNAL, "a message that ends early");
}

function decodeRequest(message, bytes) {
	try {
		return decode(message, bytes);
	} catch (error) {
		throw error instanceof ProtobufError ? new GrpcError(Status.INTERNAL, `Error deserializing: ${error.message}`) : error;
	}
}

async function* decoded(message, stream) {
	for await (const bytes of stream)
		yield decodeRequest(message, bytes);
}

async function single(stream) {
	const all = [];
	for await (const one of stream)
		all.push(one);
	if (all.length !== 1)
		throw new GrpcError(Status.UNIMPLEMENTED, `${all.length} messages where one is wanted`);
	return all[0];
}

// ---- Answers -----------------------------------------------------------------------------------------

const percentEncoded = (text) => [...Buffer.from(text)].map((byte) =>
	byte >= 0x20 && byte <= 0x7e && byte !== 0x25 ? String.fromCharCode(byte) :
		`%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");

// In the trailers, or in the only block of headers when there is nothing else.
export function finish(res, { code, message, trailers = {} }) {
	if (!res.headersSent)
		res.setHeader("content-type", "application/grpc");
	const all = { "grpc-status": String(code), ...(message ? { "grpc-message": percentEncoded(message) } : {}), ...trailers };
	for (const [name, value] of Object.entries(all))
		res.headersSent ? res.setTrailer(name, value) : res.setHeader(name, value);
	res.end();
}

function begin(res) {
	res.setHeader("content-type", "application/grpc");
	res.flushHeaders();
}

function drained(res) {
	return new Promise((resolve) => {
		const go = () => {
			res.off("drain", go);
			res.off("close", go);
			resolve();
		};
		res.once("drain", go);
		res.once("close", go);
	});
}

async function send(res, message, value) {
	if (!res.headersSent)
		begin(res);
	if (!res.destroyed && !res.write(frame(encode(message, value))))
		await drained(res);
}

async function serveCall(method, handler, call, res, requests) {
	const input = decoded(method.input, requests);
	const given = method.kind === "client stream" ? input : await single(input);
	if (method.kind !== "server stream")
		return send(res, method.output, await handler(call, given) ?? {});
	begin(res);
	for await (const one of handler(call, given)) {
		if (call.isOver)
			break;
		await send(res, method.output, one);
	}
	return undefined;
}

// ---- Requests ----------------------------------------------------------------------------------------

function timeoutMs(text) {
	if (text === undefined)
		return undefined;
	const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
	if (!unit)
		throw new GrpcError(Status.INTERNAL, `bad grpc-timeout "${text}"`);
	return Number(digits) * UNIT_MS[unit];
}

// What HTTP itself refuses, before there is a call; or undefined.
function refusal({ method, headers }) {
	if (method !== "POST")
		return [405, "only POST"];
	if (!/^application\/grpc(\+proto)?$/.test(headers["content-type"] ?? ""))
		return [415, "the content type is not application/grpc"];
	return headers.te === "trailers" ? undefined : [400, "no te: trailers"];
}

function deadline(call) {
	const ms = timeoutMs(call.headers["grpc-timeout"]);
	let timer;
	const late = new Promise((resolve, reject) => {
		if (ms !== undefined)
			timer = setTimeout(() => reject(new GrpcError(Status.DEADLINE_EXCEEDED, "Deadline Exceeded")), ms);
	});
	return { late, clear: () => clearTimeout(timer) };
}

function failure(error) {
	return error instanceof GrpcError ? error : { code: Status.INTERNAL, message: error.message };
}

async function answer({ methods, handlers, maxSize }, call, req, res) {
	const method = methods[call.path];
	if (!method || !handlers[call.path])
		throw new GrpcError(Status.UNIMPLEMENTED, `unknown method ${call.path}`);
	const { late, clear } = deadline(call);
	const served = serveCall(method, handlers[call.path], call, res, messages(req, maxSize));
	served.catch(() => {});
	await Promise.race([served, late]).finally(clear);
}

// service: { methods, handlers, check(call): refuses what may not be done, maxSize: bytes of a message }
export const grpcHandler = (service) => async (req, res) => {
	const refused = refusal(req);
	if (refused) {
		res.writeHead(refused[0], { "content-type": "text/plain" });
		res.end(refused[1]);
		return;
	}
	const call = { headers: req.headers, path: req.url.slice(1), isOver: false };
	res.once("close", () => (call.isOver = true, call.onOver?.()));
	try {
		await service.check?.(call);
		await answer(service, call, req, res);
		finish(res, { code: Status.OK });
	} catch (error) {
		await whenSent(req);
		if (!call.isOver)
			finish(res, failure(error));
	}
};
