// Requests to the control plane, checked as the vendor's schema does, and the pages and filters of lists.
import { readBody } from "../lib/http.mjs";
import { isAddresses, isHost } from "../lib/network.mjs";
import { ApiError } from "./api_error.mjs";

const LOG_LIMIT = 1000;
const bad = (message) => new ApiError(400, `Error when parsing request: ${message}`);

// An empty body stands for {} only where the schema says so.
export async function readObject(req, { isOptional = false } = {}) {
	const body = await readBody(req);
	if (body.length === 0 && isOptional)
		return {};
	if (!/^application\/json\b/i.test(req.headers["content-type"] ?? ""))
		throw new ApiError(400, `header Content-Type has unexpected value "${req.headers["content-type"] ?? ""}"`);
	let value;
	try {
		value = JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw bad(error.message);
	}
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw bad("value must be an object");
	return value;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isList = (isItem) => (value) => Array.isArray(value) && value.every(isItem);
const isMap = (isItem) => (value) => isObject(value) && Object.values(value).every(isItem);
const isText = (value) => typeof value === "string";
// Whether it has no member of another kind, and each that is required.
const isLike = (schema, required = []) => (value) => isObject(value) && required.every((name) => name in value) &&
	Object.entries(schema).every(([name, kind]) => value[name] === undefined || checks[kind](value[name]));
const checks = {
	string: isText,
	boolean: (value) => typeof value === "boolean",
	seconds: (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 31,
	texts: isMap(isText),
	object: isObject,
	objectOrNull: (value) => value === null || isObject(value),
	list: isList(isText),
	rules: isMap(isList(isObject)),
	resumption: isLike({ enabled: "boolean" }, ["enabled"]),
	tokens: isLike({ tokens: "object" }),
	network: isLike({
		allowPublicTraffic: "boolean", allowOut: "list", denyOut: "list", egressProxy: "object", maskRequestHost: "string",
		rules: "rules",
	}),
	mounts: isList(isLike({ name: "string", path: "string" }, ["name", "path"])),
};

// Null is of no kind that does not say so.
export function checkMembers(value, schema) {
	for (const [name, kind] of Object.entries(schema)) {
		if (value[name] !== undefined && !checks[kind](value[name]))
			throw bad(`Error at "/${name}": value must be ${kind}`);
	}
	return value;
}

const CREATE = {
	templateID: "string", timeout: "seconds", metadata: "texts", envVars: "texts", autoPause: "boolean",
	autoPauseMemory: "boolean", autoResume: "resumption", allow_internet_access: "boolean", network: "network",
	mcp: "objectOrNull", iam: "tokens", volumeMounts: "mounts",
};

function checkPlaces(list, name, isPlace) {
	const wrong = (list ?? []).find((one) => !isPlace(one));
	if (wrong !== undefined)
		throw new ApiError(400, `invalid ${name} entry: ${wrong}`);
}

function checkNetwork({ allowOut, denyOut }) {
	checkPlaces(allowOut, "allowOut", (one) => isAddresses(one) || isHost(one));
	checkPlaces(denyOut, "denyOut", isAddresses);
}

export function checkCreate(value, isV1) {
	checkMembers(value, isV1 ? { ...CREATE, secure: "boolean" } : CREATE);
	checkNetwork(value.network ?? {});
	if (!value.templateID)
		throw bad('Error at "/templateID": property "templateID" is missing');
	if (value.autoPauseMemory === false && !value.autoPause)
		throw new ApiError(400, "autoPauseMemory=false only applies when autoPause is true.");
	if (value.autoPauseMemory === false && value.autoResume?.enabled)
		throw new ApiError(400, "autoPauseMemory=false (filesystem-only auto-pause) cannot be combined with autoResume");
	return value;
}

const NETWORK = { allow_internet_access: "boolean", allowOut: "list", denyOut: "list", egressProxy: "object", rules: "rules" };

export function checkNetworkUpdate(value) {
	checkMembers(value, NETWORK);
	checkNetwork(value);
	return value;
}

// "ID" or the old "ID-CLIENT".
export function sandboxId(text) {
	const [id, , ...more] = text.split("-");
	if (more.length || !/^[a-z0-9]+$/.test(id))
		throw new ApiError(400, "Invalid sandbox ID");
	return id;
}

// ---- Lists -----------------------------------------------------------------------------------------

// A query string in a query parameter, whose keys and values are percent-encoded once more.
function metadataFilter(text) {
	const pairs = [...new URLSearchParams(text)];
	return pairs.map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)]);
}

function pageSize(text) {
	const size = text === null ? 100 : Number(text);
	if (!Number.isInteger(size) || size < 1 || size > 100)
		throw new ApiError(400, 'parameter "limit" in query has an error: number must be between 1 and 100');
	return size;
}

function startOfPage(token) {
	if (!token)
		return 0;
	const [, start] = /^after:(\d+)$/.exec(Buffer.from(token, "base64url").toString()) ?? [];
	if (start === undefined)
		throw new ApiError(400, "Invalid next token");
	return Number(start);
}

function states(text) {
	const wanted = (text ?? "running,paused").split(",");
	if (wanted.some((one) => !["running", "paused"].includes(one)))
		throw new ApiError(400, 'parameter "state" in query has an error: value is not one of the allowed values');
	return wanted;
}

function direction(text) {
	if (![null, "asc", "desc"].includes(text))
		throw new ApiError(400, 'parameter "order" in query has an error: value is not one of the allowed values');
	return text === "asc" ? 1 : -1;
}

function startedAfter(text) {
	if (text !== null && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text))
		throw new ApiError(400, 'parameter "startedAfter" in query has an error: string doesn\'t match the format "date-time"');
	return text === null ? 0 : Date.parse(text);
}

// { page, nextToken or "" }
export function selectPage(sandboxes, query) {
	const wantedStates = states(query.get("state"));
	const metadata = metadataFilter(query.get("metadata") ?? "");
	const sign = direction(query.get("order"));
	const earliest = startedAfter(query.get("startedAfter"));
	const chosen = sandboxes
		.filter(({ state }) => wantedStates.includes(state))
		.filter((one) => metadata.every(([key, value]) => one.metadata[key] === value))
		.filter((one) => !query.get("template") || one.templateID === query.get("template"))
		.filter((one) => one.startedAt >= earliest)
		.sort((a, b) => sign * (a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1)));
	return cutPage(chosen, query);
}

export function cutPage(chosen, query) {
	const size = pageSize(query.get("limit"));
	const start = startOfPage(query.get("nextToken"));
	const end = start + size;
	const nextToken = end < chosen.length ? Buffer.from(`after:${end}`).toString("base64url") : "";
	return { page: chosen.slice(start, end), nextToken };
}

// The entries of a log: from the cursor on, or before it; as many as are wanted, in the direction asked for.
export function selectLog(log, query) {
	const limit = Number(query.get("limit") ?? LOG_LIMIT);
	const direction = query.get("direction") ?? "forward";
	if (!Number.isInteger(limit) || limit < 0 || limit > LOG_LIMIT)
		throw new ApiError(400, `parameter "limit" in query has an error: number must be between 0 and ${LOG_LIMIT}`);
	if (!["forward", "backward"].includes(direction))
		throw new ApiError(400, 'parameter "direction" in query has an error: value is not one of the allowed values');
	const cursor = Number(query.get("cursor") ?? (direction === "forward" ? 0 : Date.now()));
	const chosen = log.filter(({ at }) => (direction === "forward" ? at >= cursor : at <= cursor));
	return (direction === "forward" ? chosen : chosen.reverse()).slice(0, limit);
}
