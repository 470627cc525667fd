// The control plane: https://app.daytona.io/api as far as sandboxes are concerned.
import { randomBytes } from "node:crypto";

import { sendEmpty, sendJson } from "../lib/http.mjs";
import { ApiError, badRequest } from "./api_error.mjs";
import {
	canPause, checkCreate, checkFork, checkLabels, checkNetworkSettings, checkSnapshot, interval, readObject, selectLog,
	selectNumbered, selectPage,
} from "./control_input.mjs";
import { listedView, logView, sandboxView } from "./control_views.mjs";
import { serveLegacy } from "./proxy.mjs";

const PREFIX = "/api";
const LEAST_AUTO_DELETE = -1;
const PREVIEW_S = 60;
const PREVIEW_MAX_S = 86_400;
const PREVIEW_DOMAIN = "proxy.daytona.works";

// ---- Routes ----------------------------------------------------------------------------------------

const answer = (context, res, sandbox) => sendJson(res, 200, sandboxView(sandbox, context.proxyUrl));

// From a snapshot the answer comes when it is started, and still shows what it was before; a build goes on behind.
async function create(context, req, res) {
	const { fleet } = context;
	const wanted = checkCreate(await readObject(req), fleet.snapshots);
	const sandbox = fleet.add(wanted);
	const view = sandboxView(sandbox, context.proxyUrl);
	const created = sandbox.create(fleet.snapshots.find(wanted.snapshot)?.folder);
	if (!wanted.buildInfo)
		await created;
	if (sandbox.errorReason && !wanted.buildInfo)
		throw badRequest(`Sandbox failed to start: ${sandbox.errorReason}`);
	sendJson(res, 200, view);
}

function list(context, req, res, { query }) {
	const { page, nextCursor } = selectPage(context.fleet.all(), query);
	sendJson(res, 200, { items: page.map((sandbox) => listedView(sandbox, context.proxyUrl)), nextCursor });
}

function get(context, req, res, { sandbox }) {
	answer(context, res, sandbox);
}

async function start(context, req, res, { sandbox }) {
	const isArchived = sandbox.state === "archived";
	const started = sandbox.start();
	if (!isArchived)
		await started;
	if (sandbox.errorReason)
		throw badRequest(`Sandbox failed to start: ${sandbox.errorReason}`);
	answer(context, res, sandbox);
}

// The change goes on behind the answer, which shows that it is under way.
const change = (name) => (context, req, res, { sandbox }) => {
	sandbox[name]();
	answer(context, res, sandbox);
};

function stop(context, req, res, { sandbox, query }) {
	const force = query.get("force") ?? "false";
	if (!["true", "false"].includes(force))
		throw badRequest("Validation failed (boolean string is expected)");
	sandbox.stop();
	answer(context, res, sandbox);
}

async function labels(context, req, res, { sandbox }) {
	const wanted = checkLabels(await readObject(req));
	sandbox.labels = wanted;
	sendJson(res, 200, { labels: wanted });
}

function autoStop(context, req, res, { sandbox, rest }) {
	sandbox.setAutoStop(interval(rest));
	answer(context, res, sandbox);
}

function autoPause(context, req, res, { sandbox, rest }) {
	const minutes = interval(rest);
	if (minutes > 0)
		requirePausing(sandbox);
	if (minutes > 0 && sandbox.isEphemeral)
		throw badRequest("Auto-pause is not allowed for ephemeral sandboxes");
	sandbox.setAutoPause(minutes);
	answer(context, res, sandbox);
}

function ttl(context, req, res, { sandbox, rest }) {
	sandbox.setTtl(interval(rest));
	answer(context, res, sandbox);
}

async function networkSettings(context, req, res, { sandbox }) {
	const wanted = checkNetworkSettings(await readObject(req));
	// An end to the blocking clears the lists, too.
	const cleared = wanted.networkBlockAll === false ? { networkAllowList: undefined, domainAllowList: undefined } : {};
	Object.assign(sandbox, cleared, wanted);
	answer(context, res, sandbox);
}

function autoDelete(context, req, res, { sandbox, rest }) {
	sandbox.autoDeleteInterval = interval(rest, LEAST_AUTO_DELETE);
	answer(context, res, sandbox);
}

function autoArchive(context, req, res, { sandbox, rest }) {
	sandbox.autoArchiveInterval = interval(rest);
	answer(context, res, sandbox);
}

function lastActivity(context, req, res, { sandbox }) {
	sandbox.touch();
	sendEmpty(res, 201, { "Content-Length": 0 });
}

// The token is a part of the host's name, which is the proxy's.
function signedPreviewUrl(context, req, res, { sandbox, rest, query }) {
	const port = Number(rest);
	const seconds = Number(query.get("expiresInSeconds") ?? PREVIEW_S);
	if (!Number.isInteger(port) || port < 1 || port > 65_535)
		throw badRequest("Invalid port");
	if (!Number.isInteger(seconds) || seconds < 1 || seconds > PREVIEW_MAX_S)
		throw badRequest("expiresInSeconds must be between 1 second and 24 hours");
	const token = randomBytes(16).toString("hex");
	sendJson(res, 200, { sandboxId: sandbox.id, port, token, url: `https://${port}-${token}.${PREVIEW_DOMAIN}` });
}

function requirePausing({ sandboxClass }) {
	if (!canPause(sandboxClass))
		throw new ApiError(422, "Pausing is not supported for this sandbox");
}

function pause(context, req, res, { sandbox }) {
	requirePausing(sandbox);
	sandbox.pause();
	answer(context, res, sandbox);
}

function recover(context, req, res, { sandbox, query }) {
	sandbox.recover(query.get("skipStart") === "true");
	answer(context, res, sandbox);
}

// ---- Snapshots and forks ---------------------------------------------------------------------------

async function snapshot(context, req, res, { sandbox }) {
	await context.fleet.snapshots.capture(sandbox, checkSnapshot(await readObject(req)));
	answer(context, res, sandbox);
}

// Like the other, with the name asked for; it starts behind the answer.
async function fork(context, req, res, { sandbox }) {
	const { name } = checkFork(await readObject(req));
	const { labels, env, target, account: user, public: isPublic, autoStopInterval, autoPauseInterval } = sandbox;
	if (!["started", "stopped"].includes(sandbox.state))
		throw badRequest("Sandbox must be started or stopped to be forked");
	const like = { labels, env, target, user, public: isPublic, autoStopInterval, autoPauseInterval, snapshot: sandbox.snapshot };
	const forked = context.fleet.add({ ...like, ...(name ? { name } : {}) });
	const folder = context.fleet.snapshots.newFolder();
	sandbox.whileShown("forking", () => sandbox.capture(folder)).then(() => forked.create(folder));
	answer(context, res, forked);
}

function listSnapshots(context, req, res, { query }) {
	sendJson(res, 200, selectNumbered(context.fleet.snapshots.all, query));
}

function lookAtSnapshot(context, req, res, { id }) {
	sendJson(res, 200, context.fleet.snapshots.require(id));
}

function removeSnapshot(context, req, res, { id }) {
	context.fleet.snapshots.remove(id);
	sendEmpty(res, 200, { "Content-Length": 0 });
}

function toolboxProxyUrl(context, req, res) {
	if (!context.proxyUrl)
		throw new ApiError(404, `Cannot GET ${req.url}`);
	sendJson(res, 200, { url: context.proxyUrl });
}

function buildLogsUrl(context, req, res, { sandbox }) {
	sendJson(res, 200, { url: `http://${req.headers.host}${PREFIX}/sandbox/${sandbox.id}/build-logs` });
}

function buildLogs(context, req, res, { sandbox }) {
	res.writeHead(200, { "Content-Type": "text/plain" }).end(sandbox.buildLog);
}

function logs(context, req, res, { sandbox, query }) {
	sendJson(res, 200, selectLog(sandbox.log.map(logView), query));
}

const ROUTES = {
	"POST /sandbox": create,
	"GET /sandbox": list,
	"GET /sandbox/{id}": get,
	"DELETE /sandbox/{id}": change("destroy"),
	"POST /sandbox/{id}/start": start,
	"POST /sandbox/{id}/stop": stop,
	"POST /sandbox/{id}/pause": pause,
	"POST /sandbox/{id}/recover": recover,
	"POST /sandbox/{id}/network-settings": networkSettings,
	"POST /sandbox/{id}/snapshot": snapshot,
	"POST /sandbox/{id}/fork": fork,
	"GET /snapshots": listSnapshots,
	"GET /snapshots/{id}": lookAtSnapshot,
	"DELETE /snapshots/{id}": removeSnapshot,
	"POST /sandbox/{id}/archive": change("archive"),
	"PUT /sandbox/{id}/labels": labels,
	"POST /sandbox/{id}/autostop/{n}": autoStop,
	"POST /sandbox/{id}/autopause/{n}": autoPause,
	"POST /sandbox/{id}/ttl/{n}": ttl,
	"POST /sandbox/{id}/autoarchive/{n}": autoArchive,
	"POST /sandbox/{id}/autodelete/{n}": autoDelete,
	"POST /sandbox/{id}/last-activity": lastActivity,
	"GET /sandbox/{id}/toolbox-proxy-url": toolboxProxyUrl,
	"GET /sandbox/{id}/build-logs-url": buildLogsUrl,
	"GET /sandbox/{id}/build-logs": buildLogs,
	"GET /sandbox/{id}/ports/{n}/signed-preview-url": signedPreviewUrl,
	"GET /sandbox/{id}/telemetry/logs": logs,
};

// The vendor's schema has a sandbox's ID alone there, and its ID or its name elsewhere.
const BY_ID = new Set([lastActivity, toolboxProxyUrl, logs]);

// ---- Serving ---------------------------------------------------------------------------------------

const LEGACY_TOOLBOX = /^\/api\/toolbox\/([^/]+)\/toolbox(\/.*)$/s;

const pattern = (pathname) => pathname
	.replace(/^\/api\/(sandbox|snapshots)\/[^/]+/, `${PREFIX}/$1/{id}`)
	.replace(/\/(auto\w+|ttl)\/[^/]+$/, "/$1/{n}")
	.replace(/\/ports\/[^/]+\//, "/ports/{n}/");

// Of the data plane under its old address: as under the new one.
export function controlKind(req) {
	const pathname = req.url.replace(/\?.*$/s, "");
	const [, , path] = LEGACY_TOOLBOX.exec(pathname) ?? [];
	return `${req.method} ${path ?? pattern(pathname).slice(PREFIX.length)}`;
}

function checkKey(context, req) {
	const [, key] = /^Bearer (.+)$/.exec(req.headers.authorization ?? "") ?? [];
	if (key !== context.key)
		throw new ApiError(401, "Invalid credentials");
}

// Of those that are destroyed, one that was evicted can still be looked at.
function findFor(fleet, route, id) {
	const evicted = route === get && fleet.evicted(id);
	return evicted || (BY_ID.has(route) ? fleet.requireId(id) : fleet.find(id));
}

async function serve(context, req, res) {
	const { pathname, searchParams: query } = new URL(req.url, "http://control");
	checkKey(context, req);
	const [, toolboxId] = LEGACY_TOOLBOX.exec(pathname) ?? [];
	if (toolboxId && !context.proxyUrl)
		return serveLegacy(context, req, res, toolboxId, LEGACY_TOOLBOX.exec(req.url)[2]);
	const route = pathname.startsWith(`${PREFIX}/`) && ROUTES[`${req.method} ${pattern(pathname).slice(PREFIX.length)}`];
	if (!route)
		throw new ApiError(404, `Cannot ${req.method} ${pathname}`);
	const [, , kind, coded, , rest] = pathname.split("/");
	const id = coded && decodeURIComponent(coded);
	const sandbox = kind === "sandbox" && id ? findFor(context.fleet, route, id) : undefined;
	return route(context, req, res, { sandbox, id, rest, query });
}

// context: { fleet, key, proxyUrl }
export const controlHandler = (context) => async (req, res) => {
	try {
		await serve(context, req, res);
	} catch (error) {
		const refusal = error instanceof ApiError ? error : new ApiError(500, "An unexpected error occurred.");
		refusal.send(req, res);
		req.resume();
	}
};
