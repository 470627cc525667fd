// The control plane: https://api.smith.langchain.com as far as sandboxes are concerned.
import { sendEmpty, sendJson } from "../lib/http.mjs";
import { Failure, invalid, plain, typed } from "./failure.mjs";
import { checkBody, checkCreate, checkRunConfig, checkUpdate, readObject, selectPage } from "./input.mjs";
import { sandboxView, snapshotView, statusView } from "./views.mjs";

const PREFIX = /^(\/api)?\/v2\/sandboxes(?=\/)/;
const READY_S = 30;
const LINK_S = 600;

// ---- Sandboxes -------------------------------------------------------------------------------------

// A sandbox that is not ready in time stays, though nobody was told its id.
async function waitUntilReady(sandbox, timeoutS) {
	let timer;
	const late = new Promise((resolve) => (timer = setTimeout(resolve, timeoutS * 1000)));
	await Promise.race([sandbox.booted, late]);
	clearTimeout(timer);
	if (sandbox.status === "failed")
		throw typed(422, "SandboxCreationFailed", sandbox.status_message);
	if (sandbox.status === "provisioning")
		throw typed(408, "Timeout", `Sandbox '${sandbox.name}' not ready after ${timeoutS}s (status: provisioning)`);
}

async function create(context, req, res) {
	const { wait_for_ready: isAwaited = false, timeout = READY_S, ...wanted } = checkCreate(await readObject(req));
	const sandbox = await context.fleet.create(wanted);
	if (isAwaited)
		await waitUntilReady(sandbox, timeout);
	sendJson(res, 201, sandboxView(context, sandbox));
}

function list(context, req, res, name, query) {
	const { page, next, start } = selectPage(context.fleet.all(), query);
	const items = page.map((sandbox) => sandboxView(context, sandbox));
	sendJson(res, 200, { items, next_cursor: next, sandboxes: items, offset: start });
}

function info(context, req, res, name) {
	sendJson(res, 200, sandboxView(context, context.fleet.find(name)));
}

function status(context, req, res, name) {
	sendJson(res, 200, statusView(context.fleet.find(name)));
}

async function update(context, req, res, name) {
	const wanted = checkUpdate(await readObject(req));
	const sandbox = context.fleet.find(name);
	if (wanted.name !== undefined)
		context.fleet.requireFree(wanted.name, sandbox);
	if (wanted.proxy_config && sandbox.status !== "ready")
		throw typed(400, "InvalidRequest", `Sandbox '${name}' is not ready`);
	sandbox.update(wanted);
	sendJson(res, 200, sandboxView(context, sandbox));
}

async function start(context, req, res, name) {
	await readObject(req);
	const sandbox = context.fleet.find(name);
	if (!["stopped", "failed"].includes(sandbox.status))
		throw typed(400, "InvalidRequest", `Sandbox '${name}' cannot be started while it is ${sandbox.status}`);
	sandbox.boot(context.fleet.limits.provisionMs);
	sendJson(res, 200, sandboxView(context, sandbox));
}

async function stop(context, req, res, name) {
	await readObject(req);
	const sandbox = context.fleet.find(name);
	if (sandbox.status !== "ready")
		throw typed(400, "InvalidRequest", `Sandbox '${name}' cannot be stopped while it is ${sandbox.status}`);
	await sandbox.stop();
	sendEmpty(res, 204);
}

async function remove(context, req, res, name) {
	await context.fleet.find(name).kill();
	sendEmpty(res, 204);
}

const LINK = {
	path: "string!", expires_in_seconds: "integer", content_type: "string", content_disposition: "string",
	csp_sandbox: "boolean", csp_sandbox_flags: "list", csp_source_bundles: "list",
};

async function downloadUrl(context, req, res, name) {
	const { expires_in_seconds: seconds, ...wanted } = checkBody(await readObject(req), LINK);
	const sandbox = context.fleet.find(name);
	if (seconds !== undefined && seconds < 1)
		throw invalid(["body", "expires_in_seconds"], "Input should be greater than 0");
	const ends = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000);
	const token = context.links.add({ ...wanted, sandbox, ends });
	const url = `${context.routerUrl}/link/${token}`;
	sendJson(res, 200, { download_url: url, token, expires_at: ends?.toISOString() ?? null });
}

async function serviceUrl(context, req, res, name) {
	const wanted = checkBody(await readObject(req),
		{ port: "integer!", expires_in_seconds: "integer", access: "string", embed_origins: "list" });
	const sandbox = context.fleet.find(name);
	const { port, expires_in_seconds: seconds = LINK_S } = wanted;
	if (port < 1 || port > 65535)
		throw invalid(["body", "port"], "Input should be between 1 and 65535");
	if (seconds < 1 || seconds > 86400)
		throw invalid(["body", "expires_in_seconds"], "Input should be between 1 and 86400");
	const ends = new Date(Date.now() + seconds * 1000);
	const token = context.links.add({ port, sandbox, ends });
	const service = `${context.routerUrl}/service/${sandbox.route}/${port}`;
	sendJson(res, 200, {
		service_url: service, browser_url: `${service}?token=${token}`, token, expires_at: ends.toISOString(),
	});
}

// ---- Snapshots -------------------------------------------------------------------------------------

const SNAPSHOT = {
	name: "string!", docker_image: "string", fs_capacity_bytes: "integer", run_config: "object", description: "string",
	labels: "texts", tag: "string",
};
const CAPTURE = {
	...SNAPSHOT, checkpoint: "string", confirm_allow_snapshot_secret_values: "boolean", image_config: "object", include: "list",
	include_memory: "boolean",
};

async function capture(context, req, res, name) {
	const wanted = checkBody(await readObject(req), CAPTURE);
	const sandbox = context.fleet.find(name);
	if (!sandbox.persistent && !wanted.docker_image)
		throw typed(400, "InvalidRequest", `Sandbox '${name}' is not persistent: its filesystem cannot be captured`);
	sendJson(res, 201, snapshotView(await context.fleet.capture(sandbox, wanted)));
}

async function createSnapshot(context, req, res) {
	const wanted = checkBody(await readObject(req), {
		...SNAPSHOT, docker_image: "string!", fs_capacity_bytes: "integer!", registry_id: "string",
	});
	checkRunConfig(wanted.run_config);
	sendJson(res, 201, snapshotView(context.fleet.addSnapshot(wanted, undefined, "building")));
}

function listSnapshots(context, req, res, id, query) {
	const limit = Number(query.get("limit") ?? 50);
	if (!Number.isInteger(limit) || limit < 1 || limit > 500)
		throw invalid(["query", "limit"], "Input should be between 1 and 500");
	const offset = Number(query.get("offset") ?? 0);
	const found = context.fleet.snapshots.filter(({ name }) => name.includes(query.get("name_contains") ?? ""));
	sendJson(res, 200, { snapshots: found.slice(offset, offset + limit).map(snapshotView) });
}

function snapshot(context, req, res, id) {
	sendJson(res, 200, snapshotView(context.fleet.lookAtSnapshot(id)));
}

function removeSnapshot(context, req, res, id) {
	context.fleet.removeSnapshot(id);
	sendEmpty(res, 204);
}

// ---- Serving ---------------------------------------------------------------------------------------

const ROUTES = {
	"POST /boxes": create,
	"GET /boxes": list,
	"GET /boxes/{name}": info,
	"PATCH /boxes/{name}": update,
	"DELETE /boxes/{name}": remove,
	"GET /boxes/{name}/status": status,
	"POST /boxes/{name}/start": start,
	"POST /boxes/{name}/stop": stop,
	"POST /boxes/{name}/snapshot": capture,
	"POST /boxes/{name}/download-url": downloadUrl,
	"POST /boxes/{name}/service-url": serviceUrl,
	"GET /snapshots": listSnapshots,
	"POST /snapshots": createSnapshot,
	"GET /snapshots/{name}": snapshot,
	"DELETE /snapshots/{name}": removeSnapshot,
};

// "/boxes/a%2Fb/status" -> { pattern: "/boxes/{name}/status", name: "a/b" }
function parsePath(pathname) {
	const below = pathname.replace(PREFIX, "");
	const [, , name] = below.split("/");
	return { pattern: below.replace(/^(\/[^/]+\/)[^/]+/, "$1{name}"), name: name && decodeURIComponent(name) };
}

export const controlKind = (req) => `${req.method} ${parsePath(req.url.replace(/\?.*$/s, "")).pattern}`;

const isBelow = ({ hasOlderPrefix }, pathname) => {
	const [whole, isOfToday] = PREFIX.exec(pathname) ?? [];
	return whole !== undefined && (isOfToday !== undefined || hasOlderPrefix);
};

function findRoute(context, method, pathname) {
	const { pattern, name } = parsePath(pathname);
	const isServed = isBelow(context, pathname);
	const route = isServed ? ROUTES[`${method} ${pattern}`] : undefined;
	if (route)
		return { route, name };
	const isKnown = isServed && Object.keys(ROUTES).some((one) => one.split(" ")[1] === pattern);
	throw plain(isKnown ? 405 : 404, isKnown ? "Method Not Allowed" : "Not Found");
}

export function checkKey(context, req) {
	const key = req.headers["x-api-key"];
	if (!key)
		throw plain(401, "Missing authentication headers");
	if (key !== context.key)
		throw plain(403, "Forbidden");
}

function checkWorkspace(context, req) {
	if (context.workspace && req.headers["x-tenant-id"] !== context.workspace)
		throw plain(403, "This API key is org-scoped and requires workspace specification");
}

// context: { fleet, key, links, routerUrl, hasRouter }
export const controlHandler = (context) => async (req, res) => {
	const { pathname, searchParams } = new URL(req.url, "http://control");
	try {
		checkKey(context, req);
		checkWorkspace(context, req);
		const { route, name } = findRoute(context, req.method, pathname);
		await route(context, req, res, name, searchParams);
	} catch (error) {
		(error instanceof Failure ? error : typed(500, "InternalError", error.message)).send(res);
		req.resume();
	}
};
