// A refusal, in one of the four forms that the vendor's services answer with.
import { randomUUID } from "node:crypto";

import { sendJson } from "../lib/http.mjs";

export class Failure extends Error {
	constructor(status, body, headers = {}) {
		super(JSON.stringify(body));
		Object.assign(this, { status, body, headers });
	}

	send(res) {
		sendJson(res, this.status, this.body, this.headers);
	}
}

// What the API knows: a type and a sentence.
export const typed = (status, type, message) =>
	new Failure(status, { detail: { error: type, message, error_id: randomUUID() } });
// Requests that do not fit the schema.
export const invalid = (place, message, type = "value_error") =>
	new Failure(422, { detail: [{ loc: place, msg: message, type }] });
// What stands before the API: keys.
export const plain = (status, text) => new Failure(status, { detail: text });
// The router before the sandboxes.
export const flat = (status, error, message) => new Failure(status, { error, message });

export const notFound = (name) => typed(404, "ResourceNotFound", `Sandbox '${name}' not found`);
