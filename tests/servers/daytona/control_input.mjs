// Requests to the control plane, checked as the vendor's schema does, and the pages and filters of lists.
import { readBody } from "../lib/http.mjs";
import { isHost, isRange } from "../lib/network.mjs";
import { badRequest } from "./api_error.mjs";

// As the vendor's framework reads a body: one that is not JSON by its type is none.
export async function readObject(req) {
	const body = await readBody(req);
	if (!/^application\/json\b/i.test(req.headers["content-type"] ?? "") || body.length === 0)
		return {};
	let value;
	try {
		value = JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw badRequest(error.message);
	}
	if (typeof value !== "object" || value === null)
		throw badRequest("Unexpected token in JSON");
	return value;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value) => isObject(value) && Object.values(value).every((one) => typeof one === "string");
const KINDS = {
	string: ["a string", (value) => typeof value === "string"],
	object: ["an object", isObject],
	texts: ["an object of strings", isTexts],
	boolean: ["a boolean value", (value) => typeof value === "boolean"],
	integer: ["an integer number", Number.isSafeInteger],
	array: ["an array", Array.isArray],
	objects: ["an array of objects", (value) => Array.isArray(value) && value.every(isObject)],
};

// CreateSandbox and UpdateSandboxNetworkSettings of openapi-specs/api.json (daytona/clients).
const NETWORK = { networkBlockAll: "boolean", networkAllowList: "string", domainAllowList: "string", outboundProxyUrl: "string" };
const CREATE = {
	...NETWORK, name: "string", snapshot: "string", user: "string", env: "texts", labels: "texts", public: "boolean",
	otelEndpointOverride: "string", target: "string", cpu: "integer", gpu: "integer", gpuType: "array", spot: "boolean",
	memory: "integer", disk: "integer", autoStopInterval: "integer", autoPauseInterval: "integer", autoArchiveInterval: "integer",
	autoDeleteInterval: "integer", ttlMinutes: "integer", volumes: "objects", buildInfo: "object", linkedSandbox: "string",
	secrets: "objects",
};

// A snapshot's class is that of its sandboxes. Those that are computers of their own can be paused.
export const GENERAL_SNAPSHOTS = {
	"daytona-small": "container", "daytona-medium": "container", "daytona-large": "container",
	"daytonaio/sandbox:0.5.0-slim": "container", "daytona-vm-small": "linux-vm",
};
const REGIONS = ["us", "eu"];

// What is unknown passes unseen; what is absent or null is not looked at.
function checkTypes(wanted, schema) {
	const wrong = Object.entries(schema).filter(([name, kind]) =>
		wanted[name] !== undefined && wanted[name] !== null && !KINDS[kind][1](wanted[name]));
	if (wrong.length)
		throw badRequest(wrong.map(([name, kind]) => `${name} must be ${KINDS[kind][0]}`).join(", "));
}

function checkSource(wanted, snapshots) {
	if (wanted.buildInfo && wanted.snapshot)
		throw badRequest("Cannot specify a snapshot when using a build info entry");
	if (wanted.buildInfo && typeof wanted.buildInfo.dockerfileContent !== "string")
		throw badRequest("buildInfo.dockerfileContent must be a string");
	if (wanted.buildInfo)
		return;
	if (wanted.cpu || wanted.gpu || wanted.memory || wanted.disk)
		throw badRequest("Cannot specify Sandbox resources when using a snapshot");
	if (wanted.snapshot && snapshots.find(wanted.snapshot)?.state !== "active")
		throw badRequest(`Snapshot ${wanted.snapshot} not found. Did you add it through the Daytona Dashboard?`);
}

export const places = (list) => (list ? list.split(",") : []);

export const canPause = (sandboxClass) => sandboxClass === "linux-vm";

function checkLifetimes(wanted, sandboxClass) {
	const { autoStopInterval: stop, autoPauseInterval: pause, autoDeleteInterval: remove } = wanted;
	for (const [name, minutes] of Object.entries({ "Auto-stop": stop, "Auto-pause": pause, TTL: wanted.ttlMinutes })) {
		if (minutes < 0)
			throw badRequest(`${name} interval must be non-negative`);
	}
	if (pause > 0 && !canPause(sandboxClass))
		throw badRequest("Auto-pause is not supported for this sandbox class");
	if (pause > 0 && remove === 0)
		throw badRequest("Auto-pause is not allowed for ephemeral sandboxes");
	if (pause > 0 && stop > 0)
		throw badRequest("At most one of autoStopInterval and autoPauseInterval may be non-zero");
}

function checkNetwork({ networkAllowList, domainAllowList }) {
	const noRange = places(networkAllowList).find((one) => !isRange(one));
	if (noRange !== undefined)
		throw badRequest(`Invalid network allow list: "${noRange}" is not a valid CIDR`);
	const noHost = places(domainAllowList).find((one) => !isHost(one));
	if (noHost !== undefined)
		throw badRequest(`Invalid domain allow list: "${noHost}" is not a valid domain`);
}

// snapshots: snapshots.mjs.
export function checkCreate(wanted, snapshots) {
	checkTypes(wanted, CREATE);
	checkSource(wanted, snapshots);
	checkNetwork(wanted);
	if (wanted.target && !REGIONS.includes(wanted.target))
		throw badRequest("Region not found");
	if (wanted.spot && !wanted.gpu)
		throw badRequest("Spot is only supported for GPU sandboxes");
	checkLifetimes(wanted, snapshots.classOf(wanted));
	if ((wanted.volumes ?? []).some(({ volumeId, mountPath }) => !volumeId || !mountPath?.startsWith("/")))
		throw badRequest("volumes must have a volumeId and an absolute mountPath");
	return wanted;
}

export function checkNetworkSettings(wanted) {
	checkTypes(wanted, NETWORK);
	checkNetwork(wanted);
	if (!Object.keys(NETWORK).some((name) => (wanted[name] ?? null) !== null))
		throw badRequest("At least one network setting must be given");
	return wanted;
}

// CreateSandboxSnapshot and ForkSandbox.
export function checkSnapshot(wanted) {
	checkTypes(wanted, { name: "string", includeMemory: "boolean" });
	if (!wanted.name)
		throw badRequest("name should not be empty, name must be a string");
	return wanted;
}

export function checkFork(wanted) {
	checkTypes(wanted, { name: "string" });
	return wanted;
}

export function checkLabels({ labels }) {
	if (!isTexts(labels))
		throw badRequest("labels must be an object of strings");
	return labels;
}

// A whole number of a URL, of minutes.
export function interval(text, lowest = 0) {
	if (!/^-?\d+$/.test(text))
		throw badRequest("Validation failed (numeric string is expected)");
	if (Number(text) < lowest)
		throw badRequest("The interval must be non-negative");
	return Number(text);
}

// ---- Lists -----------------------------------------------------------------------------------------

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 200;

function pageSize(text) {
	const size = text === null ? DEFAULT_LIMIT : Number(text);
	if (!Number.isInteger(size) || size < 1)
		throw badRequest("limit must not be less than 1");
	if (size > MAX_LIMIT)
		throw badRequest(`limit must not be greater than ${MAX_LIMIT}`);
	return size;
}

function labelsOf(text) {
	try {
		return Object.entries(text ? JSON.parse(text) : {});
	} catch {
		throw badRequest("Invalid labels JSON format");
	}
}

function startOfPage(cursor) {
	const [, start] = /^after:(\d+)$/.exec(Buffer.from(cursor ?? "after:0", cursor ? "base64url" : "utf8").toString()) ?? [];
	if (start === undefined)
		throw badRequest("Invalid cursor");
	return Number(start);
}

const DEFAULT_PAGE = 1;

// Pages of snapshots have numbers.
export function selectNumbered(items, query) {
	const size = pageSize(query.get("limit"));
	const page = Number(query.get("page") ?? DEFAULT_PAGE);
	if (!Number.isInteger(page) || page < 1)
		throw badRequest("page must not be less than 1");
	const chosen = items.filter(({ name }) => name.includes(query.get("name") ?? ""));
	const start = (page - 1) * size;
	return { items: chosen.slice(start, start + size), total: chosen.length, page, totalPages: Math.ceil(chosen.length / size) };
}

function time(query, name) {
	const text = query.get(name) ?? "";
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) || Number.isNaN(Date.parse(text)))
		throw badRequest(`${name} must be a valid ISO 8601 date string`);
	return Date.parse(text);
}

// The newest first. A page has as many lines as are wanted.
export function selectLog(lines, query) {
	const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
	const page = Number(query.get("page") ?? DEFAULT_PAGE);
	if (!(limit >= 1))
		throw badRequest("limit must not be less than 1");
	if (!(page >= 1))
		throw badRequest("page must not be less than 1");
	const [from, to] = ["from", "to"].map((name) => time(query, name));
	const chosen = lines.filter(({ timestamp }) => Date.parse(timestamp) >= from && Date.parse(timestamp) <= to).reverse();
	const start = (page - 1) * limit;
	return { items: chosen.slice(start, start + limit), total: chosen.length, page, totalPages: Math.ceil(chosen.length / limit) };
}

// { page, nextCursor or null }
export function selectPage(sandboxes, query) {
	const size = pageSize(query.get("limit"));
	const start = startOfPage(query.get("cursor"));
	const labels = labelsOf(query.get("labels"));
	const states = query.getAll("states");
	const chosen = sandboxes
		.filter(({ state }) => !states.length || states.includes(state))
		.filter((one) => labels.every(([key, value]) => one.labels[key] === value))
		.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
	const end = start + size;
	const nextCursor = end < chosen.length ? Buffer.from(`after:${end}`).toString("base64url") : null;
	return { page: chosen.slice(start, end), nextCursor };
}
