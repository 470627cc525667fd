// JSON as the daemon's language writes it, and requests in it.
import { readBody } from "../../lib/http.mjs";
import { record } from "../../lib/record.mjs";
import { Refused } from "./refused.mjs";

const ESCAPES = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };

export function sendGoJson(res, status, value) {
	const body = Buffer.from(JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => ESCAPES[character]));
	res.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Content-Length": body.length });
	res.end(body);
}

const isTexts = (value) => typeof value === "object" && !Array.isArray(value) &&
	Object.values(value).every((one) => typeof one === "string");
const CHECKS = {
	string: (value) => typeof value === "string",
	boolean: (value) => typeof value === "boolean",
	seconds: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32,
	texts: isTexts,
	list: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
};

// The members that the schema names, as far as they are there: { name: kind }. Its type need not say that it is JSON.
export async function readRequest(req, schema) {
	let value;
	try {
		value = JSON.parse((await readBody(req)).toString("utf8") || "EOF");
	} catch (error) {
		throw new Refused(400, `invalid request body: ${error.message}`);
	}
	for (const [name, kind] of Object.entries(schema)) {
		if (value?.[name] !== undefined && value[name] !== null && !CHECKS[kind](value[name]))
			throw new Refused(400, `invalid request body: json: cannot unmarshal into Go struct field .${name} of type ${kind}`);
	}
	record("json", JSON.stringify(value));
	return value ?? {};
}
