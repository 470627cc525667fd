// A refusal of the proxy and of the daemon: { statusCode, message, code, timestamp, path, method }.
import { sendJson } from "../lib/http.mjs";

const KINDS = {
	400: ["BAD_REQUEST", "bad request"],
	401: ["UNAUTHORIZED", "unauthorized"],
	404: ["NOT_FOUND", "not found"],
	408: ["REQUEST_TIMEOUT", "request timeout"],
	409: ["CONFLICT", "conflict"],
};

export function refusal(req, statusCode, message, code) {
	return {
		statusCode,
		message,
		...(code ? { code } : {}),
		timestamp: new Date().toISOString(),
		path: req.url.replace(/\?.*$/s, ""),
		method: req.method,
	};
}

export function sendRefusal(req, res, status, message) {
	const [code, words] = KINDS[status];
	sendJson(res, status, refusal(req, status, `${words}: ${message}`, code));
}
