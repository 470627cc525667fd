// What every server here does with HTTP: listen on loopback, read small bodies, answer JSON.
import http from "node:http";

// Clients keep connections for as long as the vendors' load balancers do; bodies may take any time.
const KEEP_ALIVE_MS = 620_000;

// Bytes of a body that may be on their way before its source has to wait.
export const IN_FLIGHT = 512 << 10;

export function makeServer(handler) {
	const server = http.createServer({ highWaterMark: IN_FLIGHT }, handler);
	server.keepAliveTimeout = KEEP_ALIVE_MS;
	server.requestTimeout = 0;
	server.headersTimeout = 0;
	return server;
}

export function listen(server, where) {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(where, () => resolve(server.address()));
	});
}

export async function listenOnLoopback(server, port) {
	const address = await listen(server, { host: "127.0.0.1", port });
	return `http://127.0.0.1:${address.port}`;
}

// Over HTTP/2, when a request of known length has come whole: libcurl 7.88 never finishes one whose answer was there before
// it was sent, which no distant server's can be. At once for all others.
export function whenSent(req) {
	req.resume();
	if (req.httpVersionMajor < 2 || req.readableEnded || req.headers["content-length"] === undefined)
		return Promise.resolve();
	return new Promise((resolve) => {
		req.once("end", resolve);
		req.once("close", resolve);
	});
}

export class BodyTooLarge extends Error {}

export async function readBody(stream, limit = 64 << 20) {
	const chunks = [];
	let size = 0;
	for await (const chunk of stream) {
		size += chunk.length;
		if (size > limit)
			throw new BodyTooLarge(`a body of more than ${limit} bytes`);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

export function sendJson(res, status, value, headers = {}) {
	const body = Buffer.from(JSON.stringify(value));
	res.writeHead(status, {
		"Content-Type": "application/json; charset=utf-8",
		"Content-Length": body.length,
		...headers,
	});
	res.end(body);
}

export function sendText(res, status, text, headers = {}) {
	const body = Buffer.from(text);
	res.writeHead(status, {
		"Content-Type": "text/plain; charset=utf-8",
		"Content-Length": body.length,
		...headers,
	});
	res.end(body);
}

export function sendEmpty(res, status, headers = {}) {
	res.writeHead(status, headers);
	res.end();
}

// Pairs of a rawHeaders list without those that concern one connection only.
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"]);

export function endToEndHeaders(rawHeaders) {
	const kept = [];
	for (let i = 0; i < rawHeaders.length; i += 2) {
		if (!HOP_BY_HOP.has(rawHeaders[i].toLowerCase()))
			kept.push(rawHeaders[i], rawHeaders[i + 1]);
	}
	return kept;
}
