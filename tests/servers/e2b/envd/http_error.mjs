// The failure of a plain HTTP endpoint: a status and a sentence.
import { sendJson, sendText } from "../../lib/http.mjs";

export class HttpError extends Error {
	// isPlain: in no JSON, as what reads the query says it.
	constructor(status, message, { isPlain = false } = {}) {
		super(message);
		Object.assign(this, { status, isPlain });
	}
}

export function sendError(res, { status = 500, message, isPlain }) {
	if (isPlain)
		return sendText(res, status, `${message}\n`);
	return sendJson(res, status, { code: status, message }, { "X-Content-Type-Options": "nosniff" });
}
