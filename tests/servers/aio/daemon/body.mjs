// Bodies of JSON, checked against what an endpoint takes; 422 and what is wrong where they do not fit.
import { readBody } from "../../lib/http.mjs";
import { record } from "../../lib/record.mjs";
import { HttpError } from "./answer.mjs";

const CHECKS = {
	string: ["string_type", "Input should be a valid string", (value) => typeof value === "string"],
	boolean: ["bool_type", "Input should be a valid boolean", (value) => typeof value === "boolean"],
	number: ["float_type", "Input should be a valid number", (value) => typeof value === "number"],
	integer: ["int_type", "Input should be a valid integer", Number.isInteger],
	texts: ["dict_type", "Input should be a valid dictionary", (value) => typeof value === "object" && !Array.isArray(value) &&
		Object.values(value).every((one) => typeof one === "string")],
};

function refusal(type, where, msg, input) {
	return { type, loc: ["body", ...where], msg, input };
}

function invalid(...problems) {
	return new HttpError(422, problems);
}

// One letter after a kind: "!" it must be there, "?" it may be null.
function problemOf(body, name, form) {
	const [, kind, mark] = /^([a-z]+)([!?]?)$/.exec(form);
	const value = body[name];
	if (value === undefined)
		return mark === "!" ? refusal("missing", [name], "Field required", body) : undefined;
	const [type, msg, isGood] = CHECKS[kind];
	return (value === null && mark === "?") || (value !== null && isGood(value)) ? undefined :
		refusal(type, [name], msg, value);
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch {
		throw invalid(refusal("json_invalid", [0], "JSON decode error", {}));
	}
}

// form: { field: "string!" }; a field that is not in it is passed over, as the service does.
export async function jsonBody(req, form) {
	const bytes = await readBody(req);
	const isJson = /^application\/([a-z.]+\+)?json\b/i.test(req.headers["content-type"] ?? "");
	record("body", bytes);
	if (!bytes.length)
		throw invalid(refusal("missing", [], "Field required", null));
	const body = isJson ? parse(bytes.toString("utf8")) : bytes.toString("utf8");
	if (typeof body !== "object" || body === null || Array.isArray(body))
		throw invalid(refusal("model_attributes_type", [], "Input should be a valid dictionary or object to extract fields from", body));
	const problems = Object.entries(form).map(([name, one]) => problemOf(body, name, one)).filter(Boolean);
	if (problems.length)
		throw invalid(...problems);
	return body;
}
