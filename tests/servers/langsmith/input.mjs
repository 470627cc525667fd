// Bodies of requests, checked as the vendor's schema does.
import path from "node:path";

import { readBody } from "../lib/http.mjs";
import { invalid } from "./failure.mjs";

const GIB = 2 ** 30;
const MEMORY_PER_CPU = 4 * GIB;
const MAX_MEMORY = 64 * GIB;

// An empty body stands for {}.
export async function readObject(req) {
	const body = await readBody(req);
	if (body.length === 0)
		return {};
	if (!/^application\/json\b/i.test(req.headers["content-type"] ?? ""))
		throw invalid(["body"], "Input should be a valid dictionary or object to extract fields from", "model_attributes_type");
	let value;
	try {
		value = JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw invalid(["body", 0], `JSON decode error: ${error.message}`, "json_invalid");
	}
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw invalid(["body"], "Input should be a valid dictionary", "dict_type");
	return value;
}

const isTexts = (value) => typeof value === "object" && value !== null && !Array.isArray(value) &&
	Object.values(value).every((one) => typeof one === "string");
const checks = {
	string: (value) => typeof value === "string",
	boolean: (value) => typeof value === "boolean",
	integer: Number.isSafeInteger,
	texts: isTexts,
	object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
	list: Array.isArray,
};

// schema: { name: "kind" }, or "kind!" where it must be there. null is as if it were not there.
export function checkMembers(value, schema, place = ["body"]) {
	const known = {};
	for (const [name, text] of Object.entries(schema)) {
		const kind = text.replace("!", "");
		const given = value[name] ?? undefined;
		if (given === undefined && text !== kind)
			throw invalid([...place, name], "Field required", "missing");
		if (given !== undefined && !checks[kind](given))
			throw invalid([...place, name], `Input should be a valid ${kind}`, `${kind}_type`);
		if (given !== undefined)
			known[name] = given;
	}
	return known;
}

// The same of a body in which nothing else may stand.
export function checkBody(value, schema) {
	const unknown = Object.keys(value).find((name) => !(name in schema));
	if (unknown !== undefined)
		throw invalid(["body", unknown], "Extra inputs are not permitted", "extra_forbidden");
	return checkMembers(value, schema);
}

export function checkRunConfig(config, place = ["body", "run_config"]) {
	if (config === undefined)
		return undefined;
	const known = checkMembers(config, { user: "string", work_dir: "string", env_vars: "texts" }, place);
	if (known.work_dir !== undefined && !path.isAbsolute(known.work_dir))
		throw invalid([...place, "work_dir"], "work_dir must be an absolute path");
	return known;
}

function checkTtl(value, name) {
	if (value !== undefined && (value < 0 || value % 60 !== 0))
		throw invalid(["body", name], `${name} must be 0 or a multiple of 60`);
}

export function checkLifetimes(wanted) {
	checkTtl(wanted.idle_ttl_seconds, "idle_ttl_seconds");
	checkTtl(wanted.delete_after_stop_seconds, "delete_after_stop_seconds");
	return wanted;
}

// Memory follows the CPU: 4 GiB for each, at most half more or less.
function checkMachine({ vcpus, cpu_millicores: millicores, mem_bytes: memory }) {
	const cpus = millicores !== undefined ? millicores / 1000 : vcpus;
	if (cpus !== undefined && cpus <= 0)
		throw invalid(["body", "vcpus"], "vcpus must be positive");
	if (memory > MAX_MEMORY)
		throw invalid(["body", "mem_bytes"], "mem_bytes must be at most 64 GiB");
	const usual = MEMORY_PER_CPU * (cpus ?? 0);
	if (memory !== undefined && cpus !== undefined && Math.abs(memory - usual) > usual / 2)
		throw invalid(["body", "mem_bytes"], "mem_bytes must be within 50% of 4 GiB per vCPU");
}

// BoxCreateParams and BoxUpdateParams of the generated client, and what the one by hand adds.
const CREATE = {
	wait_for_ready: "boolean", timeout: "integer", snapshot_id: "string", snapshot_name: "string", snapshot: "string",
	name: "string", idle_ttl_seconds: "integer", delete_after_stop_seconds: "integer", vcpus: "integer",
	cpu_millicores: "integer", mem_bytes: "integer", fs_capacity_bytes: "integer", env_vars: "texts", labels: "texts",
	mount_config: "object", proxy_config: "object", run_config: "object", preserve_memory_on_stop: "boolean",
	restore_memory: "boolean", access_delegation: "object", persistent: "boolean", tag_value_ids: "list", volumes: "list",
};

const DISK_PER_CPU = 16 * GIB;

// What is discarded at a stop has no memory to be kept, and less disk.
function checkDisposable({ persistent, preserve_memory_on_stop: keepsMemory, fs_capacity_bytes: disk, vcpus }) {
	if (persistent !== false)
		return;
	if (keepsMemory)
		throw invalid(["body", "preserve_memory_on_stop"], "preserve_memory_on_stop requires a persistent sandbox");
	if (disk > DISK_PER_CPU * (vcpus ?? 16))
		throw invalid(["body", "fs_capacity_bytes"], "fs_capacity_bytes must be at most 16 GiB per vCPU when persistent is false");
}

export function checkCreate(body) {
	const wanted = checkLifetimes(checkBody(body, CREATE));
	if ([wanted.snapshot_id, wanted.snapshot_name, wanted.snapshot].filter(Boolean).length > 1)
		throw invalid(["body"], "at most one of snapshot_id and snapshot_name may be set");
	if (wanted.name !== undefined && !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(wanted.name))
		throw invalid(["body", "name"], "name must be letters, digits, '-', '_' and '.'");
	checkMachine(wanted);
	checkDisposable(wanted);
	return { ...wanted, run_config: checkRunConfig(wanted.run_config) };
}

const UPDATE = {
	name: "string", idle_ttl_seconds: "integer", delete_after_stop_seconds: "integer", run_config: "object",
	proxy_config: "object", vcpus: "integer", cpu_millicores: "integer", mem_bytes: "integer", fs_capacity_bytes: "integer",
	tag_value_ids: "list",
};

export function checkUpdate(body) {
	const wanted = checkLifetimes(checkBody(body, UPDATE));
	const config = checkRunConfig(wanted.run_config);
	return config ? { ...wanted, run_config: config } : wanted;
}

// ---- Lists -----------------------------------------------------------------------------------------

function pageSize(query) {
	const text = query.get("page_size") ?? query.get("limit") ?? "50";
	const size = Number(text);
	if (!Number.isInteger(size) || size < 1 || size > 100)
		throw invalid(["query", "page_size"], "Input should be between 1 and 100");
	return size;
}

function pageStart(query) {
	const cursor = query.get("cursor");
	if (!cursor)
		return Number(query.get("offset") ?? 0);
	const [, start] = /^after:(\d+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
	if (start === undefined)
		throw invalid(["query", "cursor"], "invalid cursor");
	return Number(start);
}

const hasLabel = (labels, wanted) => {
	const [, key, value] = /^([^=]*)(?:=(.*))?$/s.exec(wanted);
	return key in labels && (value === undefined || labels[key] === value);
};

// { page, next: a cursor or null, start }
export function selectPage(sandboxes, query) {
	const size = pageSize(query);
	const start = pageStart(query);
	const chosen = sandboxes
		.filter(({ name }) => name.includes(query.get("name_contains") ?? ""))
		.filter(({ status }) => !query.get("status") || status === query.get("status"))
		.filter(({ labels }) => query.getAll("label").every((one) => hasLabel(labels, one)));
	const end = start + size;
	const next = end < chosen.length ? Buffer.from(`after:${end}`).toString("base64url") : null;
	return { page: chosen.slice(start, end), next, start };
}
