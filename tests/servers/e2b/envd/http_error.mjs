// The failure of a plain HTTP endpoint: a status and a sentence.
import { sendJson } from "../../lib/http.mjs";

export class HttpError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

export function sendError(res, status, message) {
	sendJson(res, status, { code: status, message }, { "X-Content-Type-Options": "nosniff" });
}
