// A refusal: the status decides, `message` is for people.
import { sendJson } from "../lib/http.mjs";

export class ApiError extends Error {
	constructor(status, message, headers = {}) {
		super(message);
		Object.assign(this, { status, headers });
	}

	send(res) {
		sendJson(res, this.status, { message: this.message }, this.headers);
	}
}
