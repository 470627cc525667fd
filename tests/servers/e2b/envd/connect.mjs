// The Connect protocol: from an HTTP request to a method's handler and back.
//
// Handlers by kind: unary (call, message) -> message; server stream (call, message, writer) -> when it is over;
// client stream (call, messages) -> message. A call has: user, headers, deadlineMs (0: none), signal (an AbortSignal that
// fires when the caller is gone or the deadline over).
import { readBody, sendText } from "../../lib/http.mjs";
import { codecs, decodeMessage, gunzip, gzip, negotiate } from "./codec.mjs";
import { EnvelopeWriter, readMessages } from "./envelope.mjs";
import { methods } from "./messages.mjs";
import { asRpcError, RpcError } from "./rpc_error.mjs";

const UNARY_TYPES = { "application/json": "json", "application/json; charset=utf-8": "json", "application/proto": "proto" };
const STREAM_TYPES = { "application/connect+json": "json", "application/connect+proto": "proto" };
const ACCEPT_POST = {
	unary: "application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, application/grpc+proto, " +
		"application/grpc-web, application/grpc-web+json, application/grpc-web+json; charset=utf-8, " +
		"application/grpc-web+proto, application/json, application/json; charset=utf-8, application/proto",
	stream: "application/connect+json, application/connect+json; charset=utf-8, application/connect+proto, " +
		"application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, application/grpc+proto, " +
		"application/grpc-web, application/grpc-web+json, application/grpc-web+json; charset=utf-8, application/grpc-web+proto",
};

function deadlineOf(headers) {
	const given = headers["connect-timeout-ms"];
	if (given === undefined || given === "")
		return 0;
	if (!/^\d{1,10}$/.test(given))
		throw new RpcError("invalid_argument", `parse timeout: strconv.ParseInt: parsing "${given}": invalid syntax`);
	return Number(given);
}

function checkVersion(headers) {
	const version = headers["connect-protocol-version"];
	if (version !== undefined && version !== "1")
		throw new RpcError("invalid_argument", `connect-protocol-version must be "1": got "${version}"`);
}

function makeCall(req, res, user) {
	const gone = new AbortController();
	const deadlineMs = deadlineOf(req.headers);
	const timer = deadlineMs && setTimeout(() => gone.abort("deadline"), deadlineMs);
	res.once("close", () => {
		clearTimeout(timer);
		gone.abort("client");
	});
	return { user, headers: req.headers, deadlineMs, signal: gone.signal };
}

// ---- Unary -----------------------------------------------------------------------------------------

function answerUnary(res, codec, bytes, isCompressed) {
	const body = isCompressed ? gzip(bytes) : bytes;
	res.writeHead(200, {
		"Accept-Encoding": "gzip",
		...(isCompressed ? { "Content-Encoding": "gzip" } : {}),
		"Content-Type": `application/${codec}`,
		"Content-Length": body.length,
	});
	res.end(body);
}

function failUnary(res, error) {
	const body = Buffer.from(JSON.stringify(error.toJson()));
	res.writeHead(error.httpStatus, { "Content-Type": "application/json", "Content-Length": body.length });
	res.end(body);
}

async function serveUnary(req, res, method, handler, findUser) {
	const codec = UNARY_TYPES[req.headers["content-type"]?.toLowerCase()];
	try {
		checkVersion(req.headers);
		const user = findUser();
		const compressed = negotiate(req.headers["content-encoding"], req.headers["accept-encoding"]);
		const body = await readBody(req);
		const message = decodeMessage(codec, method.input, compressed.request ? gunzip(body) : body);
		const answer = await handler(makeCall(req, res, user), message);
		answerUnary(res, codec, codecs[codec].encode(method.output, answer), compressed.response);
	} catch (error) {
		failUnary(res, asRpcError(error));
	}
}

// ---- Streams ---------------------------------------------------------------------------------------

async function oneMessage(messages) {
	const all = [];
	for await (const message of messages)
		all.push(message);
	if (all.length !== 1)
		throw new RpcError("unimplemented", `unary request has ${all.length ? "multiple" : "zero"} messages`);
	return all[0];
}

async function runStream(req, res, method, handler, findUser, writer, reading) {
	checkVersion(req.headers);
	const call = makeCall(req, res, findUser());
	const messages = readMessages(req.iterator({ destroyOnReturn: false }), reading, method.input);
	if (method.kind === "client stream")
		writer.send(await handler(call, messages));
	else
		await handler(call, await oneMessage(messages), writer);
}

async function serveStream(req, res, method, handler, findUser) {
	const codec = STREAM_TYPES[req.headers["content-type"]?.toLowerCase()];
	let compressed = { request: false, response: false };
	let refusal;
	try {
		compressed = negotiate(req.headers["connect-content-encoding"], req.headers["connect-accept-encoding"]);
	} catch (error) {
		refusal = error;
	}
	res.writeHead(200, {
		"Connect-Accept-Encoding": "gzip",
		...(compressed.response ? { "Connect-Content-Encoding": "gzip" } : {}),
		"Content-Type": `application/connect+${codec}`,
	});
	const writer = new EnvelopeWriter(res, { codec, isCompressed: compressed.response, message: method.output });
	const reading = { codec, isCompressible: compressed.request };
	try {
		if (refusal)
			throw refusal;
		await runStream(req, res, method, handler, findUser, writer, reading);
		writer.end();
	} catch (error) {
		writer.end(asRpcError(error));
	}
}

// ---- Both ------------------------------------------------------------------------------------------

function refuseType(res, isUnary) {
	res.writeHead(415, { "Accept-Post": ACCEPT_POST[isUnary ? "unary" : "stream"], "Content-Length": 0 });
	res.end();
}

// `findUser` throws an RpcError when the request names a user that does not exist.
export function serveRpc(req, res, name, handlers, findUser) {
	const method = handlers[name] && methods[name];
	if (!method)
		return sendText(res, 404, "404 page not found\n");
	if (req.method !== "POST")
		return sendText(res, 405, "Method Not Allowed\n", { Allow: "POST" });
	const isUnary = method.kind === "unary";
	if (!((isUnary ? UNARY_TYPES : STREAM_TYPES)[req.headers["content-type"]?.toLowerCase()]))
		return refuseType(res, isUnary);
	return (isUnary ? serveUnary : serveStream)(req, res, method, handlers[name], findUser);
}
