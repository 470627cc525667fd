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

const KINDS = {
	string: ["a string", (value) => typeof value === "string"],
	object: ["an object", (value) => typeof value === "object" && value !== null && !Array.isArray(value)],
	boolean: ["a boolean value", (value) => typeof value === "boolean"],
	number: ["a number conforming to the specified constraints", Number.isFinite],
	array: ["an array", Array.isArray],
};

const CREATE = {
	name: "string", snapshot: "string", user: "string", env: "object", labels: "object", public: "boolean",
	networkBlockAll: "boolean", networkAllowList: "string", domainAllowList: "string", target: "string", cpu: "number",
	gpu: "number", gpuType: "array", memory: "number", disk: "number", autoStopInterval: "number",
	autoArchiveInterval: "number", autoDeleteInterval: "number", volumes: "array", buildInfo: "object", linkedSandbox: "string",
};

const SNAPSHOTS = ["daytona-small", "daytona-medium", "daytona-large", "daytonaio/sandbox:0.5.0-slim"];
const REGIONS = ["us", "eu"];

// What is unknown passes unseen; what is absent or null is not looked at.
function checkTypes(wanted, schema) {
	const wrong = Object.entries(schema).filter(([name, kind]) =>
		wanted[name] !== undefined && wanted[name] !== null && !KINDS[kind][1](wanted[name]));
	if (wrong.length)
		throw badRequest(wrong.map(([name, kind]) => `${name} must be ${KINDS[kind][0]}`).join(", "));
}

function checkSource(wanted) {
	if (wanted.buildInfo && wanted.snapshot)
		throw badRequest("Cannot specify a snapshot when using a build info entry");
	if (wanted.buildInfo && typeof wanted.buildInfo.dockerfileContent !== "string")
		throw badRequest("buildInfo.dockerfileContent must be a string");
	if (wanted.buildInfo)
		return;
	if (wanted.cpu || wanted.gpu || wanted.memory || wanted.disk)
		throw badRequest("Cannot specify Sandbox resources when using a snapshot");
	if (wanted.snapshot && !SNAPSHOTS.includes(wanted.snapshot))
		throw badRequest(`Snapshot ${wanted.snapshot} not found. Did you add it through the Daytona Dashboard?`);
}

export const places = (list) => (list ? list.split(",") : []);

function checkNetwork({ networkAllowList, domainAllowList }) {
	const noRange = places(networkAllowList).find((one) => !isRange(one));
	if (noRange !== undefined)
		throw badRequest(`Invalid network allow list: "${noRange}" is not a valid CIDR`);
	const noHost = places(domainAllowList).find((one) => !isHost(one));
	if (noHost !== undefined)
		throw badRequest(`Invalid domain allow list: "${noHost}" is not a valid domain`);
}

export function checkCreate(wanted) {
	checkTypes(wanted, CREATE);
	checkSource(wanted);
	checkNetwork(wanted);
	if (wanted.target && !REGIONS.includes(wanted.target))
		throw badRequest("Region not found");
	if (wanted.autoStopInterval < 0)
		throw badRequest("Auto-stop interval must be non-negative");
	return wanted;
}

// A whole number of a URL, of minutes.
export function interval(text, lowest = 0) {
	if (!/^-?\d+$/.test(text))
		throw badRequest("Validation failed (numeric string is expected)");
	if (Number(text) < lowest)
		throw badRequest("Auto-stop interval must be non-negative");
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
