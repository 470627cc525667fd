// Bodies and queries, checked: JSON objects of known members only.
import { readBody } from "../lib/http.mjs";
import { ApiError } from "./api_error.mjs";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function parse(body) {
	try {
		return JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw new ApiError(400, `Invalid JSON: ${error.message}`);
	}
}

// An empty body stands for {}, and only that needs no Content-Type.
export async function readObject(req) {
	const body = await readBody(req);
	if (body.length === 0)
		return {};
	if (!/^application\/json\b/i.test(req.headers["content-type"] ?? ""))
		throw new ApiError(415, `Unsupported content type "${req.headers["content-type"] ?? ""}"`);
	const value = parse(body);
	if (!isObject(value))
		throw new ApiError(400, "The body must be a JSON object");
	return value;
}

export const text = (value) => typeof value === "string";
export const filled = (value) => typeof value === "string" && value !== "";
export const flag = (value) => typeof value === "boolean";
export const texts = (value) => isObject(value) && Object.values(value).every(text);
export const list = (isMember) => (value) => Array.isArray(value) && value.every(isMember);
export const oneOf = (...allowed) => (value) => allowed.includes(value);
export const integer = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max;
export const object = (schema) => (value) => isObject(value) && (checkMembers(value, schema), true);

// Members that are null count as absent.
export function checkMembers(value, schema, required = []) {
	for (const [name, member] of Object.entries(value)) {
		if (!schema[name])
			throw new ApiError(400, `Unknown field "${name}"`);
		if (member !== null && !schema[name](member))
			throw new ApiError(400, `Invalid value of "${name}"`);
	}
	for (const name of required.filter((one) => value[one] === undefined || value[one] === null))
		throw new ApiError(400, `Missing field "${name}"`);
	return value;
}

// A number from a query, or `otherwise`.
export function queryInteger(query, name, min, max, otherwise) {
	const given = query.get(name);
	if (given === null)
		return otherwise;
	if (!/^\d+$/.test(given) || Number(given) < min || Number(given) > max)
		throw new ApiError(400, `Invalid value of "${name}"`);
	return Number(given);
}
