// https://api.runloop.ai as far as devboxes are concerned: their lives here, commands and files in their daemons.
import { forward } from "../lib/forward.mjs";
import { sendJson } from "../lib/http.mjs";
import { ApiError } from "./api_error.mjs";
import { checkCreate } from "./create_input.mjs";
import { checkMembers, filled, flag, integer, list, oneOf, queryInteger, readObject, text, texts } from "./input.mjs";
import { until } from "./until.mjs";
import { blueprintView, devboxView, snapshotView } from "./views.mjs";

const STATUSES = ["scheduled", "queued", "provisioning", "initializing", "running", "suspending", "suspended", "resuming",
	"failure", "shutdown"];
const HOLD_MAX_S = 30;
const PAGE = 20;
const PAGE_MAX = 5000;
const MESSAGE_MAX = 1000;
const DATA = /^\/v1\/devboxes\/[^/]+\/(execut|read_file|write_file|download_file|upload_file)/;

// ---- Helpers ---------------------------------------------------------------------------------------

function find(context, id) {
	const devbox = context.fleet.find(id);
	if (!devbox)
		throw new ApiError(404, `Devbox not found: ${id}`);
	return devbox;
}

function requireStatus(devbox, status) {
	if (devbox.status !== status)
		throw new ApiError(400, `Devbox ${devbox.id} is not ${status}: its status is ${devbox.status}`);
	return devbox;
}

const show = (res, devbox) => sendJson(res, 200, devboxView(devbox));
const isBooted = ({ status }) => status === "running" || status === "failure" || status === "shutdown";

// ---- Many devboxes ---------------------------------------------------------------------------------

const createNow = async (context, req) => context.fleet.create(checkCreate(await readObject(req)));

async function create(context, req, res) {
	show(res, await createNow(context, req));
}

async function createAndAwait(context, req, res) {
	const devbox = await createNow(context, req);
	await until(devbox.changes, () => isBooted(devbox), context.holdMs);
	show(res, devbox);
}

function startOfPage(all, after) {
	if (after === null)
		return 0;
	const index = all.findIndex(({ id }) => id === after);
	if (index < 0)
		throw new ApiError(400, `Invalid value of "starting_after"`);
	return index + 1;
}

function listAll(context, req, res, id, query) {
	const status = query.get("status");
	if (status !== null && !STATUSES.includes(status))
		throw new ApiError(400, `Invalid value of "status"`);
	const size = queryInteger(query, "limit", 1, PAGE_MAX, PAGE);
	const all = context.fleet.all();
	const start = startOfPage(all, query.get("starting_after"));
	const chosen = all.slice(start).filter((one) => status === null || one.status === status);
	sendJson(res, 200, {
		devboxes: chosen.slice(0, size).map(devboxView),
		has_more: chosen.length > size,
		...(query.get("include_total_count") === "false" ? {} : { total_count: all.length }),
	});
}

// ---- One devbox ------------------------------------------------------------------------------------

const info = (context, req, res, id) => show(res, find(context, id));

async function update(context, req, res, id) {
	const wanted = checkMembers(await readObject(req), { name: text, metadata: texts });
	const devbox = find(context, id);
	devbox.name = wanted.name === undefined ? devbox.name : wanted.name || null;
	devbox.metadata = wanted.metadata ?? devbox.metadata;
	show(res, devbox);
}

async function waitForStatus(context, req, res, id) {
	const { statuses, timeout_seconds: holdS = HOLD_MAX_S } = checkMembers(await readObject(req),
		{ statuses: list(oneOf(...STATUSES)), timeout_seconds: integer(1, HOLD_MAX_S) }, ["statuses"]);
	const devbox = find(context, id);
	const isThere = await until(devbox.changes, () => statuses.includes(devbox.status), Math.min(holdS * 1000, context.holdMs));
	if (!isThere)
		throw new ApiError(408, `Devbox ${id} is still ${devbox.status}`);
	show(res, devbox);
}

function suspend(context, req, res, id) {
	const devbox = requireStatus(find(context, id), "running");
	devbox.suspend();
	show(res, devbox);
}

function resume(context, req, res, id) {
	const devbox = requireStatus(find(context, id), "suspended");
	devbox.resume();
	show(res, devbox);
}

function keepAlive(context, req, res, id) {
	requireStatus(find(context, id), "running").keepAlive();
	sendJson(res, 200, {});
}

// One for all its ports, which stays.
async function enableTunnel(context, req, res, id) {
	const wanted = checkMembers(await readObject(req),
		{ auth_mode: oneOf("open", "authenticated"), http_keep_alive: flag, wake_on_http: flag });
	sendJson(res, 200, requireStatus(find(context, id), "running").openTunnel(wanted));
}

async function shutdown(context, req, res, id) {
	const devbox = find(context, id);
	if (devbox.hasEnded)
		throw new ApiError(400, `Devbox ${id} has ended: its status is ${devbox.status}`);
	await devbox.shutdown("api_shutdown");
	show(res, devbox);
}

// ---- Snapshots -------------------------------------------------------------------------------------

const snapshot = (more) => async (context, req, res, id) => {
	const wanted = checkMembers(await readObject(req), { name: text, metadata: texts, commit_message: text });
	if (wanted.commit_message?.length > MESSAGE_MAX)
		throw new ApiError(400, `Invalid value of "commit_message"`);
	const devbox = requireStatus(find(context, id), "running");
	sendJson(res, 200, snapshotView(context.fleet.addSnapshot(devbox, { ...wanted, ...more })));
};

function listSnapshots(context, req, res, id, query) {
	const size = queryInteger(query, "limit", 1, PAGE_MAX, PAGE);
	const of = query.get("devbox_id");
	const all = [...context.fleet.snapshots.values()].reverse().filter(({ devbox }) => of === null || devbox === of);
	const chosen = all.slice(startOfPage(all, query.get("starting_after")));
	sendJson(res, 200, {
		snapshots: chosen.slice(0, size).map(snapshotView),
		has_more: chosen.length > size,
		...(query.get("include_total_count") === "false" ? {} : { total_count: all.length }),
	});
}

function snapshotStatus(context, req, res, id) {
	const { status, ...seen } = context.fleet.lookAtSnapshot(id);
	sendJson(res, 200, {
		status,
		error_message: status === "error" ? "the disk could not be read" : null,
		snapshot: status === "complete" ? snapshotView(seen) : null,
	});
}

async function deleteSnapshot(context, req, res, id) {
	await readObject(req);
	context.fleet.deleteSnapshot(id);
	sendJson(res, 200, {});
}

// Those that are pending, then each that is scheduled; it ends when it was idle.
async function watchEvictions({ fleet, streamIdleMs }, req, res) {
	const told = new Set();
	const fresh = () => fleet.pendingEvictions().map((one) => JSON.stringify(one)).filter((one) => !told.has(one));
	res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
	res.flushHeaders();
	do {
		for (const one of fresh()) {
			told.add(one);
			res.write(`data: ${one}\n\n`);
		}
	} while (await until(fleet.evictions, () => res.destroyed || fresh().length > 0, streamIdleMs) && !res.destroyed);
	res.end();
}

// ---- Blueprints ------------------------------------------------------------------------------------

async function makeBlueprint(context, req, res) {
	const wanted = checkMembers(await readObject(req), { name: filled, dockerfile: filled }, ["name", "dockerfile"]);
	if (!/^FROM \S+\n/.test(wanted.dockerfile))
		throw new ApiError(400, "The Dockerfile must begin with FROM");
	sendJson(res, 200, blueprintView(context.fleet.addBlueprint(wanted)));
}

function listBlueprints(context, req, res, id, query) {
	const name = query.get("name");
	const chosen = context.fleet.blueprints.filter((one) => name === null || one.name === name);
	sendJson(res, 200, { blueprints: chosen.map(blueprintView), has_more: false });
}

const lookAtBlueprint = (context, req, res, id) => sendJson(res, 200, blueprintView(context.fleet.lookAtBlueprint(id)));

function blueprintLogs(context, req, res, id) {
	const { dockerfile } = context.fleet.findBlueprint(id);
	const lines = [dockerfile.trim(), "pull access denied"];
	const logs = lines.map((message) => ({ level: "info", message, timestamp_ms: Date.now() }));
	sendJson(res, 200, { blueprint_id: id, logs });
}

function logs(context, req, res, id) {
	const lines = find(context, id).log.map(({ at, message }) =>
		({ level: "info", source: "entrypoint", timestamp_ms: at, message, cmd: null, exit_code: null }));
	sendJson(res, 200, { logs: lines });
}

// ---- What the daemon serves ------------------------------------------------------------------------

const isPseudo = (name) => name.startsWith(":");

// What an HTTP/1.1 connection may carry, of a request of HTTP/2 too.
function plainHeaders(req) {
	const pairs = req.rawHeaders.flatMap((name, i) => (i % 2 || isPseudo(name) ? [] : [[name, req.rawHeaders[i + 1]]]));
	const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "authorization"]);
	return Object.fromEntries(pairs.filter(([name]) => !hopByHop.has(name.toLowerCase())));
}

function passToDaemon(context, req, res, id) {
	const devbox = requireStatus(find(context, id), "running");
	const refuse = () => new ApiError(502, `Devbox ${id} does not answer`).send(res);
	forward(devbox, req, res, { headers: plainHeaders(req) }, refuse);
}

// ---- Serving ---------------------------------------------------------------------------------------

const ROUTES = {
	"POST /v1/devboxes": create,
	"GET /v1/devboxes": listAll,
	"POST /v1/devboxes/create_and_await_running": createAndAwait,
	"GET /v1/devboxes/{id}": info,
	"POST /v1/devboxes/{id}": update,
	"POST /v1/devboxes/{id}/wait_for_status": waitForStatus,
	"POST /v1/devboxes/{id}/suspend": suspend,
	"POST /v1/devboxes/{id}/resume": resume,
	"POST /v1/devboxes/{id}/keep_alive": keepAlive,
	"POST /v1/devboxes/{id}/enable_tunnel": enableTunnel,
	"POST /v1/devboxes/{id}/shutdown": shutdown,
	"GET /v1/devboxes/{id}/logs": logs,
	"POST /v1/devboxes/{id}/snapshot_disk": snapshot({}),
	"POST /v1/devboxes/{id}/snapshot_disk_async": snapshot({ status: "in_progress" }),
	"GET /v1/devboxes/evictions/watch": watchEvictions,
	"GET /v1/devboxes/disk_snapshots": listSnapshots,
	"GET /v1/devboxes/disk_snapshots/{id}/status": snapshotStatus,
	"POST /v1/devboxes/disk_snapshots/{id}/delete": deleteSnapshot,
	"POST /v1/blueprints": makeBlueprint,
	"GET /v1/blueprints": listBlueprints,
	"GET /v1/blueprints/{id}": lookAtBlueprint,
	"GET /v1/blueprints/{id}/logs": blueprintLogs,
};

function pattern(pathname) {
	return pathname.replace(/^(\/v1\/devboxes\/disk_snapshots\/)[^/]+/, "$1{id}")
		.replace(/^(\/v1\/devboxes\/)(?!create_and_await_running$|(?:disk_snapshots|evictions)(?:\/|$))[^/]+/, "$1{id}")
		.replace(/^(\/v1\/blueprints\/)[^/]+/, "$1{id}")
		.replace(/(\/executions\/)[^/]+/, "$1{id}");
}

export const kindOf = (req) => `${req.method} ${pattern(req.url.replace(/\?.*$/s, ""))}`;

function checkKey(context, req) {
	if (req.headers.authorization !== `Bearer ${context.key}`)
		throw new ApiError(401, "Invalid API key");
}

function findRoute(req, pathname) {
	if (DATA.test(pathname))
		return passToDaemon;
	const path = pattern(pathname);
	const route = ROUTES[`${req.method} ${path}`];
	if (route)
		return route;
	const isPathKnown = Object.keys(ROUTES).some((one) => one.split(" ")[1] === path);
	throw isPathKnown ? new ApiError(405, "Method not allowed") : new ApiError(404, "Not found");
}

// context: { fleet, key, holdMs, streamIdleMs }
export const apiHandler = (context) => async (req, res) => {
	const { pathname, searchParams } = new URL(req.url, "http://api");
	try {
		checkKey(context, req);
		const [, id] = /^\/v1\/(?:devboxes\/disk_snapshots|devboxes|blueprints)\/([^/]+)/.exec(pathname) ?? [];
		await findRoute(req, pathname)(context, req, res, id, searchParams);
	} catch (error) {
		const refusal = error instanceof ApiError ? error : new ApiError(500, error.message);
		refusal.send(res);
		req.resume();
	}
};
