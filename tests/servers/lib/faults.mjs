// Faults on request. One fault: { match: { kind, path, after, times }, action: { type, ... } }.
//
// kind: exactly that kind of request, or /a regular expression/; path: a regular expression for the URL; the first
// `after` matches go well (0), the next `times` (1; 0: all) get the action:
//   delay { ms }                      the answer later
//   status { status, retry_after, headers, body }   this answer; body: text or JSON; none: empty
//   say_back { status }               this answer, with the request's headers in its message
//   expired_token                     401 as when the access token is no good any more
//   cut                               the connection ends before any answer
//   cut_request { bytes }             the connection ends after so many bytes of the request's body
//   shorten_request { bytes }         the request's body arrives without its last bytes (1), as if it were whole
//   cut_after { bytes }               the connection ends after so many bytes of the answer's body, if it has so many
//   duplicate                         the request arrives twice, at the same time; HTTP/1.1
//   keep_copy                         a copy of the request arrives when POST /deliver says so; HTTP/1.1
//   truncate { bytes }                the answer's body ends early, as if it were whole
//   stall { bytes, ms }               after so many bytes (none: before the headers) nothing for ms (none: until released)
//   content_type { value }            this Content-Type
//   trailer { name, value }           the answer, with this trailer
//   garbage { bytes }                 200 and random bytes (64)
//   lose_answer { status }            the request is done, and its answer is this one
//   lie { seed }                      every second answer as lies.mjs tells it
//   grpc_status { status, message, retry_after }   a gRPC call's end; retry_after: seconds, as Modal's servers say it
//   grpc_reset { status, message }    a gRPC call's end, behind which the stream is reset
import { randomBytes } from "node:crypto";
import http from "node:http";
import http2 from "node:http2";

import { finish, retryPolicy } from "./grpc.mjs";
import { sendJson, whenSent } from "./http.mjs";
import { lie, seedLies } from "./lies.mjs";

// Of a request that arrives once more, which is left alone.
const AGAIN = "x-arrives-again";

function matcher(pattern) {
	if (pattern === undefined)
		return () => true;
	const [, expression] = /^\/(.*)\/$/s.exec(pattern) ?? [];
	return expression === undefined ? (text) => text === pattern : (text) => new RegExp(expression).test(text);
}

function parse({ match = {}, action }) {
	if (!action || !(action.type in actions))
		throw new Error(`an action's type is one of ${Object.keys(actions).join(", ")}`);
	const { kind, path, after = 0, times = 1 } = match;
	return { isKind: matcher(kind), isPath: matcher(path && `/${path}/`), skip: after, left: times || Infinity, action };
}

export class Faults {
	constructor() {
		this.clear();
	}

	add(fault) {
		this.list.push(parse(fault));
		if (fault.action.seed !== undefined)
			seedLies(fault.action.seed);
	}

	// Forgets all of them.
	clear() {
		this.list = [];
		this.taken = 0;
		this.copies = [];
		this.release();
	}

	// Lets go all that stalls.
	release() {
		this.releasers?.forEach((go) => go());
		this.releasers = new Set();
	}

	// Has the copies that were kept arrive, one after the other; the statuses of their answers.
	async deliver() {
		const statuses = [];
		for (const send of this.copies.splice(0))
			statuses.push(await send());
		return statuses;
	}

	take(kind, { url, headers }) {
		if (AGAIN in headers)
			return undefined;
		const fault = this.list.find((one) => one.left > 0 && one.isKind(kind) && one.isPath(url));
		if (!fault)
			return undefined;
		if (fault.skip > 0) {
			fault.skip--;
			return undefined;
		}
		fault.left--;
		this.taken++;
		return fault.action;
	}

	wait(ms) {
		return new Promise((resolve) => {
			const go = () => (clearTimeout(timer), this.releasers.delete(go), resolve());
			const timer = ms === undefined ? undefined : setTimeout(go, ms);
			this.releasers.add(go);
		});
	}

	// Does to request and answer what the action says. True: it has answered itself.
	apply(action, req, res) {
		return actions[action.type](action, req, res, this);
	}
}

// ---- The actions -----------------------------------------------------------------------------------

async function answerStatus({ status, retry_after: retryAfter, headers: more, body }, req, res) {
	await whenSent(req);
	const headers = { ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }), ...more };
	if (typeof body === "object") {
		sendJson(res, status, body, headers);
	} else {
		res.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body ?? "") });
		res.end(body);
	}
	return true;
}

function sayBack({ status }, req, res) {
	const said = Object.values(req.headers).flat().join("; ");
	return answerStatus({ status, body: { code: status, message: `this is wrong: ${said}` } }, req, res);
}

// Over HTTP/2 a connection is its session.
const cutConnection = (req) => (req.stream?.session ?? req.socket).destroy();
const destroyed = (req) => (cutConnection(req), true);

function onRequestBytes(req, limit, act) {
	const { push } = req;
	let seen = 0;
	req.push = (chunk) => {
		seen += chunk?.length ?? 0;
		if (seen >= limit)
			act();
		return push.call(req, chunk);
	};
}

const againOptions = ({ method, url, socket, headers }) => ({
	host: socket.localAddress, port: socket.localPort, method, path: url, headers: { ...headers, [AGAIN]: "1" },
});

// Calls act with every piece of the request's body, at last with null.
function onRequestPieces(req, act) {
	const { push } = req;
	req.push = (chunk, ...rest) => {
		act(chunk);
		return push.call(req, chunk, ...rest);
	};
}

// A body whose length is not said is left alone.
function shortenRequest({ bytes = 1 }, req) {
	const length = Number(req.headers["content-length"]) - bytes;
	if (!(length >= 0))
		return false;
	const at = req.rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-length");
	req.rawHeaders[at + 1] = req.headers["content-length"] = String(length);
	const { push } = req;
	let left = length;
	req.push = (chunk, ...rest) => {
		if (chunk === null)
			return push.call(req, chunk, ...rest);
		const kept = chunk.subarray(0, left);
		left -= kept.length;
		return kept.length ? push.call(req, kept, ...rest) : true;
	};
	return false;
}

// Nobody reads the other answer.
function duplicate(action, req) {
	const again = http.request(againOptions(req));
	again.on("response", (answer) => answer.on("error", () => {}).resume());
	again.on("error", () => {});
	onRequestPieces(req, (chunk) => (chunk === null ? again.end() : again.write(chunk)));
	return false;
}

function keepCopy(action, req, res, faults) {
	const options = againOptions(req);
	const pieces = [];
	const send = () => new Promise((resolve, reject) => {
		const again = http.request(options, (answer) => answer.on("end", () => resolve(answer.statusCode)).resume());
		again.on("error", reject);
		again.end(Buffer.concat(pieces));
	});
	onRequestPieces(req, (chunk) => (chunk === null ? faults.copies.push(send) : pieces.push(chunk)));
	return false;
}

// Calls act once the answer's body has `limit` bytes; what is beyond them goes to `beyond`, with which call it was.
function onAnswerBytes(res, limit, act, beyond) {
	const { write, end } = res;
	let left = limit;
	let isOver = false;
	const filter = (original) => (chunk, ...rest) => {
		if (isOver)
			return beyond(original, chunk, rest);
		const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
		if (!bytes || typeof chunk === "function" || bytes.length < left) {
			left -= bytes?.length ?? 0;
			return original.call(res, chunk, ...rest);
		}
		isOver = true;
		if (left > 0)
			write.call(res, bytes.subarray(0, left), () => act());
		else
			act();
		return beyond(original, bytes.subarray(left), rest);
	};
	res.write = filter(write);
	res.end = filter(end);
}

// What has fewer bytes has no fault.
function cutAfter({ bytes = 0 }, req, res, faults) {
	if (bytes === 0)
		res.flushHeaders = () => {};
	faults.taken--;
	onAnswerBytes(res, bytes, () => (faults.taken++, cutConnection(req)), dropped);
}

const dropped = () => true;

function withoutLength(res) {
	const { writeHead } = res;
	res.writeHead = (status, headers) => {
		const list = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat();
		const kept = list.filter((_, i) => list[i - (i % 2)].toLowerCase() !== "content-length");
		return writeHead.call(res, status, kept);
	};
}

function truncate({ bytes = 0 }, req, res) {
	const { end } = res;
	withoutLength(res);
	onAnswerBytes(res, bytes, () => end.call(res), dropped);
}

async function stall({ bytes, ms }, req, res, faults) {
	if (bytes === undefined)
		return faults.wait(ms).then(() => false);
	const held = [];
	let isReleased = false;
	const flush = () => faults.wait(ms).then(() => {
		isReleased = true;
		held.forEach(([original, chunk, rest]) => original.call(res, chunk, ...rest));
		res.emit("drain");
	});
	onAnswerBytes(res, bytes, flush, (original, chunk, rest) => {
		if (isReleased)
			return original.call(res, chunk, ...rest);
		held.push([original, chunk, rest]);
		return false;
	});
	return false;
}

function changeContentType({ value = "text/html" }, req, res) {
	const { writeHead } = res;
	res.writeHead = (status, headers) => {
		const list = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat();
		const changed = list.map((item, i) => (i % 2 && list[i - 1].toLowerCase() === "content-type" ? value : item));
		return writeHead.call(res, status, changed);
	};
}

const addTrailer = ({ name, value }, req, res) => (res.setTrailer(name, value), false);

async function garbage({ bytes = 64 }, req, res) {
	await whenSent(req);
	res.writeHead(200, { "Content-Length": bytes });
	res.end(randomBytes(bytes));
	return true;
}

// As a gateway answers that loses its server once that has the request.
function loseAnswer({ status }, req, res) {
	const { writeHead, end } = res;
	const called = (rest) => rest.filter((one) => typeof one === "function").forEach((one) => process.nextTick(one));
	res.flushHeaders = () => {};
	res.writeHead = () => res;
	res.write = (chunk, ...rest) => (called(rest), true);
	res.end = (...rest) => {
		res.end = () => res;
		writeHead.call(res, status, { "Content-Length": 0 });
		end.call(res);
		called(rest);
		return res;
	};
	return false;
}

async function grpcStatus({ status, message, retry_after: retryAfter }, req, res) {
	await whenSent(req);
	const details = retryAfter === undefined ? {} : { "grpc-status-details-bin": retryPolicy(status, retryAfter) };
	finish(res, { code: status, message, trailers: details });
	return true;
}

async function grpcReset({ status, message }, req, res) {
	await whenSent(req);
	res.stream.on("error", () => {});
	res.setHeader("grpc-status", String(status));
	res.setHeader("grpc-message", message);
	res.flushHeaders();
	// The headers leave first.
	setImmediate(() => res.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
	return true;
}

const UNAUTHORIZED = {
	code: 401,
	message: "unauthorized access, please provide a valid access token or method signing if supported",
};

const actions = {
	delay: ({ ms }, req, res, faults) => faults.wait(ms).then(() => false),
	status: answerStatus,
	say_back: sayBack,
	expired_token: (action, req, res) => answerStatus({ status: 401, body: UNAUTHORIZED }, req, res),
	cut: (action, req) => destroyed(req),
	duplicate,
	keep_copy: keepCopy,
	cut_request: ({ bytes }, req) => onRequestBytes(req, bytes, () => cutConnection(req)),
	cut_after: cutAfter,
	truncate,
	stall,
	content_type: changeContentType,
	trailer: addTrailer,
	garbage,
	lose_answer: loseAnswer,
	shorten_request: shortenRequest,
	lie,
	grpc_status: grpcStatus,
	grpc_reset: grpcReset,
};
