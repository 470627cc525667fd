// A refusal of the control plane: { path, timestamp, statusCode, error, message }.
import http from "node:http";

import { sendJson } from "../lib/http.mjs";

export class ApiError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}

	send(req, res) {
		sendJson(res, this.status, {
			path: req.url,
			timestamp: new Date().toISOString(),
			statusCode: this.status,
			error: http.STATUS_CODES[this.status],
			message: this.message,
		});
	}
}

export const badRequest = (message) => new ApiError(400, message);
export const notFound = (idOrName) => new ApiError(404, `Sandbox with ID or name ${idOrName} not found`);
export const stateChangeInProgress = () => new ApiError(409, "Sandbox state change in progress");
