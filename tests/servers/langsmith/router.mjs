// The router before the sandboxes: finds one by its URL, wakes it where it sleeps, passes on; requests to upgrade too.
import http from "node:http";
import net from "node:net";

import { forward } from "../lib/forward.mjs";
import { endToEndHeaders } from "../lib/http.mjs";
import { checkKey } from "./control.mjs";
import { Failure, flat, typed } from "./failure.mjs";

const TOKEN_HEADER = "x-langsmith-sandbox-service-token";
// Only this server asks the daemon for what is below.
const OWN = /^\/_/;

// "/box/ROUTE/execute?x" -> { kind: "box", key: "ROUTE", rest: "/execute?x" }
function parse(url) {
	const [, kind, key, rest] = /^\/(box|link|service)\/([^/?]+)(.*)$/s.exec(url) ?? [];
	return { kind, key, rest };
}

export function routerKind(req) {
	const { kind, rest } = parse(req.url);
	const path = (rest ?? req.url).replace(/\?.*$/s, "");
	const method = req.headers.upgrade ? "WS" : req.method;
	return kind === "box" ? `${method} ${path}` : `${method} ${kind ?? path}`;
}

// ---- Which sandbox ---------------------------------------------------------------------------------

const gone = () => flat(404, "NotFound", "sandbox not found");

// Whatever asks for something in it wakes it.
async function wake(context, sandbox) {
	if (!sandbox || sandbox.isGone)
		throw gone();
	if (sandbox.status === "stopped")
		sandbox.boot(context.fleet.limits.provisionMs);
	else if (sandbox.status !== "ready" && !sandbox.stopped)
		throw typed(400, "NotReady", `Sandbox '${sandbox.name}' is not ready (status: ${sandbox.status})`);
	await sandbox.booted;
	if (sandbox.status !== "ready")
		throw unconnected;
	sandbox.touch();
	return sandbox;
}

function ofLink(context, req, { key }) {
	if (req.method !== "GET" && req.method !== "HEAD")
		throw flat(405, "MethodNotAllowed", "method not allowed");
	const { sandbox, path, content_type: type = "", content_disposition: disposition = "" } = context.links.find(key);
	const query = new URLSearchParams({ path, type, disposition });
	return { sandbox, change: { path: `/_link?${query}` } };
}

function ofService(context, req, { key, rest }) {
	const [, port, path] = /^\/(\d+)(.*)$/s.exec(rest) ?? [];
	const target = context.links.find(req.headers[TOKEN_HEADER] ?? "");
	if (target.sandbox.route !== key || target.port !== Number(port))
		throw flat(403, "Forbidden", "the token is for another service");
	const change = { socketPath: undefined, agent: false, host: "127.0.0.1", port, path: path || "/" };
	return { sandbox: target.sandbox, change };
}

// The key stays here.
function withoutKey(rawHeaders) {
	return rawHeaders.filter((_, i) => rawHeaders[i - (i % 2)].toLowerCase() !== "x-api-key");
}

function ofBox(context, req, { key, rest }) {
	checkKey(context, req);
	if (OWN.test(rest))
		throw flat(404, "NotFound", "no such path");
	const headers = withoutKey(endToEndHeaders(req.rawHeaders));
	return { sandbox: context.fleet.byRoute(key), change: { path: rest || "/", headers } };
}

async function target(context, req) {
	const asked = parse(req.url);
	const find = { box: ofBox, link: ofLink, service: ofService }[asked.kind];
	if (!find || !context.hasRouter)
		throw gone();
	const found = find(context, req, asked);
	return { ...found, sandbox: await wake(context, found.sandbox) };
}

// ---- Passing on ------------------------------------------------------------------------------------

const unconnected = flat(502, "ConnectionError", "failed to connect to sandbox");
const tooLong = flat(504, "GatewayTimeout", "upstream request timeout");

// What the daemon was doing when nobody waits any more it goes on with.
function pass(context, sandbox, req, res, change) {
	let refusal = unconnected;
	const cut = forward(sandbox, req, res, change, () => refusal.send(res));
	const timer = setTimeout(() => {
		refusal = tooLong;
		cut();
	}, context.proxyTimeoutS * 1000);
	res.once("close", () => (clearTimeout(timer), sandbox.touch()));
}

function answerFailure(error, req, res) {
	(error instanceof Failure ? error : flat(500, "InternalError", error.message)).send(res);
	req.resume();
}

// context: { fleet, key, links, hasRouter, proxyTimeoutS }
export const routerHandler = (context) => async (req, res) => {
	try {
		const { sandbox, change } = await target(context, req);
		pass(context, sandbox, req, res, change);
	} catch (error) {
		answerFailure(error, req, res);
	}
};

// ---- Upgrades --------------------------------------------------------------------------------------

function requestText(req, path) {
	const lines = [`${req.method} ${path} HTTP/1.1`];
	const headers = withoutKey(req.rawHeaders);
	for (let i = 0; i < headers.length; i += 2)
		lines.push(`${headers[i]}: ${headers[i + 1]}`);
	return `${lines.join("\r\n")}\r\n\r\n`;
}

function join(sandbox, path, req, socket, head) {
	const upstream = net.connect({ path: sandbox.jail.socket, allowHalfOpen: true });
	const cut = () => [socket, upstream].forEach((one) => one.destroy());
	const isOver = sandbox.track(cut);
	upstream.write(requestText(req, path));
	upstream.write(head);
	upstream.pipe(socket).pipe(upstream);
	for (const one of [socket, upstream]) {
		one.on("error", cut);
		one.once("close", () => (cut(), isOver(), sandbox.touch()));
	}
}

// A handshake that is refused is answered like any request.
export const upgradeHandler = (context) => async (req, res) => {
	try {
		const { sandbox, change: { path } } = await target(context, req);
		const { socket } = res;
		res.detachSocket(socket);
		join(sandbox, path, req, socket, req.upgradeHead);
	} catch (error) {
		answerFailure(error, req, res);
	}
};

// For an event "upgrade": what a listener for requests wants.
export function asRequest(handler) {
	return (req, socket, head) => {
		const res = new http.ServerResponse(req);
		req.upgradeHead = head;
		res.shouldKeepAlive = false;
		res.assignSocket(socket);
		socket.on("error", () => {});
		res.once("finish", () => socket.end());
		handler(req, res);
	};
}
