// The edge proxy before every sandbox's daemon: finds the sandbox by header or host name, wakes it if it may, passes on.
import net from "node:net";

import { forward } from "../lib/forward.mjs";
import { sendJson, sendText } from "../lib/http.mjs";

const ENVD_PORT = 49983;
const ORCHESTRATOR_ONLY = new Set(["/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"]);

// ---- Which sandbox ---------------------------------------------------------------------------------

class BadRequest extends Error {}

function isSharedHost(host) {
	return host === "localhost" || host.startsWith("sandbox.") || net.isIP(host.replace(/^\[|\]$/g, "")) !== 0;
}

function fromHeaders(headers) {
	const id = headers["e2b-sandbox-id"];
	const port = headers["e2b-sandbox-port"];
	if (!id || !port)
		throw new BadRequest(`missing header: ${id ? "E2b-Sandbox-Port" : "E2b-Sandbox-Id"}`);
	return { id, port };
}

function fromHost(host) {
	const [, port, id] = /^(\d+)-([^.-]+)(?:-[^.]+)?\./.exec(`${host}.`) ?? [];
	if (!id)
		throw new BadRequest("Invalid host");
	return { id, port };
}

function target(req) {
	const host = (req.headers.host ?? "").replace(/:\d+$/, "");
	const { id, port } = isSharedHost(host) ? fromHeaders(req.headers) : fromHost(host);
	if (!/^[a-z0-9]+$/.test(id))
		throw new BadRequest("Invalid sandbox ID");
	if (!/^\d{1,5}$/.test(port) || Number(port) > 65535)
		throw new BadRequest("Invalid sandbox port");
	return { id, port: Number(port) };
}

// ---- Passing on ------------------------------------------------------------------------------------

function refuse(res, status, answer) {
	sendJson(res, status, { ...answer, code: status });
}

function notFound(sandbox, res) {
	refuse(res, 502, { sandboxId: sandbox.id, message: "The sandbox was not found" });
}

async function wakeIfAllowed(context, sandbox) {
	if (!sandbox?.canAutoResume)
		return;
	if (context.fleet.running.length < context.maxSandboxes)
		await sandbox.autoResumeNow();
}

async function serve(context, req, res) {
	const { id, port } = target(req);
	const sandbox = context.fleet.find(id);
	await wakeIfAllowed(context, sandbox);
	if (sandbox?.state === "starting")
		return refuse(res, 409, { sandboxId: id, message: "The sandbox is still transitioning" });
	if (sandbox?.state !== "running")
		return refuse(res, 502, { sandboxId: id, message: "The sandbox was not found" });
	if (port !== ENVD_PORT && sandbox.trafficToken && req.headers["e2b-traffic-access-token"] !== sandbox.trafficToken)
		return refuse(res, 403, { sandboxId: id, message: "The traffic access token is missing or wrong" });
	if (port !== ENVD_PORT)
		return refuse(res, 502, { sandboxId: id, message: "The sandbox is running but port is not open", port });
	if (ORCHESTRATOR_ONLY.has(req.url.replace(/\?.*$/s, "")))
		return sendText(res, 404, "404 page not found\n");
	if (sandbox.exchanges.size >= context.maxConnections)
		return refuse(res, 429, { sandboxId: id, message: "Too many connections", connectionLimit: context.maxConnections });
	return forward(sandbox, req, res, {}, () => notFound(sandbox, res));
}

export function edgeKind(req) {
	const path = req.url.replace(/\?.*$/s, "");
	return /^\/[a-z]+\.[A-Z]/.test(path) ? path.slice(1) : `${req.method} ${path}`;
}

// context: { fleet, maxSandboxes, maxConnections }
export const edgeHandler = (context) => async (req, res) => {
	try {
		await serve(context, req, res);
	} catch (error) {
		if (error instanceof BadRequest)
			sendText(res, 400, error.message);
		else
			refuse(res, 500, { message: error.message });
	}
};
