// The control plane: https://api.e2b.app as far as sandboxes are concerned.
import { randomUUID } from "node:crypto";
import path from "node:path";

import { sendEmpty, sendJson } from "../lib/http.mjs";
import { ApiError, notFound } from "./api_error.mjs";
import {
	checkCreate, checkMembers, checkNetworkUpdate, cutPage, readObject, sandboxId, selectLog, selectPage,
} from "./control_input.mjs";
import { createdView, detailView, listedView, logView } from "./control_views.mjs";
import { TEMPLATE_ROUTES, templateIds, templatePattern } from "./templates.mjs";

const ALL_ADDRESSES = "0.0.0.0/0";
const DEFAULT_TIMEOUT_S = { v1: 15, v2: 300 };
const RESUME_TIMEOUT_S = 15;
const MIN_REFRESH_S = 15;
const MAX_REFRESH_S = 3600;
const FORKS_MAX = 100;

// ---- Helpers ---------------------------------------------------------------------------------------

function find(context, text) {
	const id = sandboxId(text);
	const sandbox = context.fleet.find(id);
	if (!sandbox || sandbox.state === "killed")
		throw notFound(id);
	return sandbox;
}

function checkTimeout(context, timeoutS) {
	if (timeoutS <= 0)
		throw new ApiError(400, "Timeout must be greater than 0");
	if (timeoutS > context.maxLengthS)
		throw new ApiError(400, `Timeout cannot be greater than ${context.maxLengthS / 3600} hours`);
	return timeoutS;
}

// The end may not be further from the (re)start than the plan allows.
function setEnd(context, sandbox, endAt) {
	const latest = sandbox.startedAt + context.maxLengthS * 1000;
	if (Date.now() >= latest)
		throw new ApiError(400, "Max instance length exceeded");
	sandbox.expireAt(Math.min(endAt, latest));
}

function requireRunning(sandbox) {
	if (sandbox.state !== "running")
		throw new ApiError(409, `Sandbox "${sandbox.id}" is in ${sandbox.state} state`);
}

function requireRoom(context) {
	if (context.fleet.running.length >= context.maxSandboxes) {
		throw new ApiError(429, "you have reached the maximum number of concurrent E2B sandboxes " +
			`(${context.maxSandboxes}).`);
	}
}

const reachOf = ({ allow_internet_access: isOpen, denyOut = [], allowOut = [] }) =>
	({ isCutOff: isOpen === false || denyOut.includes(ALL_ADDRESSES), allowed: allowOut });

// ---- Routes ----------------------------------------------------------------------------------------

const create = (version) => async (context, req, res) => {
	const wanted = checkCreate(await readObject(req), version === "v1");
	const timeoutS = checkTimeout(context, wanted.timeout ?? DEFAULT_TIMEOUT_S[version]);
	if (!context.templates.isReady(wanted.templateID))
		throw new ApiError(404, `template '${wanted.templateID}' not found`);
	requireRoom(context);
	const secure = version === "v2" || wanted.secure === true;
	if (secure && !context.hasSecure) {
		throw new ApiError(400, "Template is not compatible with secured access. Please visit " +
			"https://e2b.dev/docs/sandbox/secured-access for more information.");
	}
	const sandbox = await context.fleet.create({
		templateID: wanted.templateID,
		metadata: wanted.metadata ?? {},
		envVars: wanted.envVars ?? {},
		autoPause: wanted.autoPause ?? false,
		autoPauseMemory: wanted.autoPauseMemory ?? true,
		autoResume: wanted.autoResume?.enabled ?? false,
		...reachOf({ ...wanted.network, allow_internet_access: wanted.allow_internet_access }),
		isPrivate: wanted.network?.allowPublicTraffic === false,
		volumeMounts: wanted.volumeMounts ?? [],
		secure,
	}, timeoutS, context.templates.snapshot(wanted.templateID)?.folder);
	sendJson(res, 201, createdView(sandbox));
};

const connect = (version) => async (context, req, res, text) => {
	const wanted = checkMembers(await readObject(req, { isOptional: version === "v2" }), { timeout: "seconds", memory: "boolean" });
	if (version === "v1" && wanted.timeout === undefined)
		throw new ApiError(400, 'Error when parsing request: Error at "/timeout": property "timeout" is missing');
	const timeoutS = checkTimeout(context, wanted.timeout ?? DEFAULT_TIMEOUT_S.v2);
	const sandbox = find(context, text);
	if (sandbox.state === "paused") {
		requireRoom(context);
		await sandbox.resume(timeoutS);
		return sendJson(res, 201, createdView(sandbox));
	}
	setEnd(context, sandbox, Math.max(sandbox.endAt, Date.now() + timeoutS * 1000));
	return sendJson(res, 200, createdView(sandbox));
};

async function resume(context, req, res, text) {
	const wanted = checkMembers(await readObject(req, { isOptional: true }),
		{ timeout: "seconds", autoPause: "boolean", memory: "boolean" });
	const timeoutS = checkTimeout(context, wanted.timeout ?? RESUME_TIMEOUT_S);
	const sandbox = find(context, text);
	if (sandbox.state !== "paused")
		throw new ApiError(409, `Sandbox ${sandbox.id} is already running`);
	requireRoom(context);
	sandbox.autoPause = wanted.autoPause ?? sandbox.autoPause;
	await sandbox.resume(timeoutS);
	sendJson(res, 201, createdView(sandbox));
}

function info(context, req, res, text) {
	sendJson(res, 200, detailView(find(context, text)));
}

function list(context, req, res, text, query) {
	const { page, nextToken } = selectPage(context.fleet.all(), query);
	sendJson(res, 200, page.map(listedView), {
		"X-Total-Running": String(context.fleet.running.length),
		...(nextToken ? { "X-Next-Token": nextToken } : {}),
	});
}

async function kill(context, req, res, text) {
	await find(context, text).kill();
	sendEmpty(res, 204);
}

async function setTimeoutRoute(context, req, res, text) {
	const { timeout } = checkMembers(await readObject(req), { timeout: "seconds" });
	if (timeout === undefined)
		throw new ApiError(400, 'Error when parsing request: Error at "/timeout": property "timeout" is missing');
	const sandbox = find(context, text);
	requireRunning(sandbox);
	checkTimeout(context, timeout);
	setEnd(context, sandbox, Date.now() + timeout * 1000);
	sendEmpty(res, 204);
}

async function refresh(context, req, res, text) {
	const { duration = MIN_REFRESH_S } = checkMembers(await readObject(req, { isOptional: true }), { duration: "seconds" });
	if (duration < 0 || duration > MAX_REFRESH_S)
		throw new ApiError(400, `Error at "/duration": number must be between 0 and ${MAX_REFRESH_S}`);
	const sandbox = find(context, text);
	requireRunning(sandbox);
	setEnd(context, sandbox, Math.max(sandbox.endAt, Date.now() + Math.max(duration, MIN_REFRESH_S) * 1000));
	sendEmpty(res, 204);
}

async function pause(context, req, res, text) {
	const { memory = true } = checkMembers(await readObject(req, { isOptional: true }), { memory: "boolean" });
	const sandbox = find(context, text);
	if (sandbox.state !== "running")
		throw new ApiError(409, `Sandbox '${sandbox.id}' cannot be paused while in '${sandbox.state}' state`);
	await sandbox.pause(memory);
	sendEmpty(res, 204);
}

// ---- Snapshots and forks ---------------------------------------------------------------------------

async function capture({ fleet }, sandbox) {
	const folder = path.join(fleet.place.io, "snapshots", randomUUID());
	await sandbox.capture(folder);
	return folder;
}

const snapshotView = ({ id, names }) => ({ snapshotID: id, names });

async function snapshot(context, req, res, text) {
	const { name } = checkMembers(await readObject(req), { name: "string" });
	if (name !== undefined && !/^[a-z0-9_-]+(:[a-z0-9_.-]+)?$/.test(name))
		throw new ApiError(400, `Invalid snapshot name '${name}'`);
	const sandbox = find(context, text);
	sendJson(res, 201, snapshotView(context.templates.addSnapshot(sandbox, name, await capture(context, sandbox))));
}

function listSnapshots(context, req, res, text, query) {
	const chosen = context.templates.snapshots.filter(({ sandbox }) => [null, sandbox].includes(query.get("sandboxID")));
	const { page, nextToken } = cutPage(chosen, query);
	sendJson(res, 200, page.map(snapshotView), nextToken ? { "X-Next-Token": nextToken } : {});
}

async function forkOnce(context, sandbox, timeoutS, folder) {
	const { templateID, metadata, envVars, autoPause, autoPauseMemory, autoResume, isCutOff, allowed, secure } = sandbox;
	try {
		requireRoom(context);
		const like = { templateID, metadata, envVars, autoPause, autoPauseMemory, autoResume, isCutOff, allowed, secure };
		return { sandbox: createdView(await context.fleet.create(like, timeoutS, folder)) };
	} catch ({ status: code = 500, message }) {
		return { error: { code, message } };
	}
}

async function fork(context, req, res, text) {
	const { timeout = RESUME_TIMEOUT_S, count = 1 } = checkMembers(await readObject(req, { isOptional: true }),
		{ timeout: "seconds", count: "seconds" });
	checkTimeout(context, timeout);
	if (count < 1 || count > FORKS_MAX)
		throw new ApiError(400, `Error at "/count": number must be between 1 and ${FORKS_MAX}`);
	const sandbox = find(context, text);
	requireRunning(sandbox);
	const folder = await capture(context, sandbox);
	sendJson(res, 201, await Promise.all(Array.from({ length: count }, () => forkOnce(context, sandbox, timeout, folder))));
}

// What is left out is cleared.
async function network(context, req, res, text) {
	const wanted = checkNetworkUpdate(await readObject(req));
	const sandbox = find(context, text);
	requireRunning(sandbox);
	Object.assign(sandbox, reachOf(wanted));
	sendEmpty(res, 204);
}

// Of now.
function sample() {
	const now = Date.now();
	const machine = { memUsed: 128 << 20, memTotal: 512 << 20, memCache: 0, diskUsed: 1 << 30, diskTotal: 10 * 2 ** 30 };
	return { timestampUnix: Math.floor(now / 1000), timestamp: new Date(now).toISOString(), cpuCount: 2, cpuUsedPct: 1.5, ...machine };
}

function metrics(context, req, res, text) {
	find(context, text);
	sendJson(res, 200, [sample()]);
}

// Of those that run.
function metricsOfMany(context, req, res, text, query) {
	if (!query.get("sandbox_ids"))
		throw new ApiError(400, 'parameter "sandbox_ids" in query has an error: value is required but missing');
	const ids = query.get("sandbox_ids").split(",").map(sandboxId);
	const known = context.fleet.running.filter(({ id }) => ids.includes(id));
	sendJson(res, 200, { sandboxes: Object.fromEntries(known.map(({ id }) => [id, sample()])) });
}

function logs(context, req, res, text, query) {
	sendJson(res, 200, { logs: selectLog(find(context, text).log, query).map(logView) });
}

const ROUTES = {
	"POST /v2/sandboxes": create("v2"),
	"GET /v2/sandboxes": list,
	"POST /v2/sandboxes/{id}/connect": connect("v2"),
	"POST /sandboxes": create("v1"),
	"GET /sandboxes": list,
	"POST /sandboxes/{id}/connect": connect("v1"),
	"GET /sandboxes/{id}": info,
	"DELETE /sandboxes/{id}": kill,
	"POST /sandboxes/{id}/timeout": setTimeoutRoute,
	"POST /sandboxes/{id}/refreshes": refresh,
	"POST /sandboxes/{id}/pause": pause,
	"POST /sandboxes/{id}/resume": resume,
	"POST /sandboxes/{id}/snapshots": snapshot,
	"GET /snapshots": listSnapshots,
	"POST /sandboxes/{id}/fork": fork,
	"PUT /sandboxes/{id}/network": network,
	"GET /v2/sandboxes/{id}/logs": logs,
	"GET /sandboxes/{id}/metrics": metrics,
	"GET /sandboxes/metrics": metricsOfMany,
	...TEMPLATE_ROUTES,
};
const ONLY_V2 = ["POST /v2/sandboxes", "POST /v2/sandboxes/{id}/connect", "GET /v2/sandboxes/{id}/logs"];

// ---- Serving ---------------------------------------------------------------------------------------

function pattern(pathname) {
	if (pathname.includes("/templates"))
		return templatePattern(pathname);
	return pathname === "/sandboxes/metrics" ? pathname : pathname.replace(/^((?:\/v2)?\/sandboxes\/)[^/]+/, "$1{id}");
}

export const controlKind = (req) => `${req.method} ${pattern(req.url.replace(/\?.*$/s, ""))}`;

function checkKey(context, req) {
	const key = req.headers["x-api-key"];
	if (!key)
		throw new ApiError(401, 'authorization header is missing: header "X-API-Key" is required');
	if (!key.startsWith("e2b_"))
		throw new ApiError(401, "Invalid API key format: it has to start with e2b_");
	if (key !== context.key)
		throw new ApiError(401, "Cannot get the team for the given API key: invalid API key");
}

function findRoute(context, req, pathname) {
	const key = `${req.method} ${pattern(pathname)}`;
	if (ROUTES[key] && !(context.isV1Only && ONLY_V2.includes(key)))
		return ROUTES[key];
	const isPathKnown = Object.keys(ROUTES).some((route) => !(context.isV1Only && ONLY_V2.includes(route)) &&
		route.split(" ")[1] === pattern(pathname));
	throw isPathKnown ? new ApiError(405, "method not allowed") : new ApiError(404, "no matching operation was found");
}

// context: { fleet, key, isV1Only, hasSecure, templates, maxLengthS, maxSandboxes }
export const controlHandler = (context) => async (req, res) => {
	const { pathname, searchParams } = new URL(req.url, "http://control");
	try {
		const route = findRoute(context, req, pathname);
		checkKey(context, req);
		const [, id] = /\/sandboxes\/([^/]+)/.exec(pathname) ?? [];
		const [template, build] = templateIds(pathname);
		await route(context, req, res, id ?? template, searchParams, build);
	} catch (error) {
		const refusal = error instanceof ApiError ? error : new ApiError(500, error.message);
		refusal.send(res);
		req.resume();
	}
};
