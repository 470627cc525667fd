// A refusal of the control plane: { code, message }.
import { sendJson } from "../lib/http.mjs";

export class ApiError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}

	send(res) {
		sendJson(res, this.status, { code: this.status, message: this.message });
	}
}

export const notFound = (id) =>
	new ApiError(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
