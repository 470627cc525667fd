// Tokens that stand in the place of a key: for one file, or for one port.
import { randomBytes } from "node:crypto";

import { flat } from "./failure.mjs";

export class Links {
	constructor() {
		this.byToken = new Map();
	}

	// target: { sandbox, ends: Date or undefined, ... }
	add(target) {
		const token = randomBytes(32).toString("base64url");
		this.byToken.set(token, target);
		return token;
	}

	find(token) {
		const target = this.byToken.get(token);
		if (!target || target.sandbox.isGone || target.ends < new Date())
			throw flat(401, "Unauthorized", "the token is unknown or has expired");
		return target;
	}
}
