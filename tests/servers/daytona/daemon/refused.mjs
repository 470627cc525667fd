// A request that the daemon does not do. Endpoints for one file tell only the status.
import { sendEmpty } from "../../lib/http.mjs";
import { sendRefusal } from "../refusal.mjs";

export class Refused extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}

	send(req, res) {
		sendRefusal(req, res, this.status, this.message);
	}
}

export class RefusedInSilence extends Refused {
	send(req, res) {
		sendEmpty(res, this.status, { "Content-Length": 0 });
	}
}

// Of a step that looks at a file; steps that change one fail with 400 whatever the reason.
export function lookFailed(error) {
	if (error.code === "ENOENT")
		return new RefusedInSilence(404, error.message);
	return new RefusedInSilence(["EACCES", "EPERM"].includes(error.code) ? 403 : 400, error.message);
}

export function look(work) {
	try {
		return work();
	} catch (error) {
		throw error instanceof Refused ? error : lookFailed(error);
	}
}

export function act(work) {
	try {
		return work();
	} catch (error) {
		throw new RefusedInSilence(400, error.message);
	}
}
