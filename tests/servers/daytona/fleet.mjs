// All sandboxes of the server's one organization.
import { randomUUID } from "node:crypto";

import { ApiError, notFound } from "./api_error.mjs";
import { Sandbox } from "./sandbox.mjs";

const DEFAULTS = {
	snapshot: "daytona-small", labels: {}, env: {}, target: "us", cpu: 1, memory: 1, disk: 3, autoStopInterval: 15,
	autoArchiveInterval: 10080, autoDeleteInterval: -1,
};

const DEFAULT_ACCOUNT = "daytona";

function given({ user, ...wanted }) {
	const values = Object.entries(wanted).filter(([, value]) => value !== null);
	return { account: user ?? DEFAULT_ACCOUNT, ...Object.fromEntries(values) };
}

export class Fleet {
	constructor(place) {
		this.place = place;
		this.sandboxes = new Map();
		this.everyOne = [];
	}

	// It is not yet ready: see its create().
	add(wanted) {
		if (wanted.name && this.all().some(({ name }) => name === wanted.name))
			throw new ApiError(409, `Sandbox with name ${wanted.name} already exists`);
		const id = randomUUID();
		const snapshot = wanted.buildInfo ? undefined : DEFAULTS.snapshot;
		const sandbox = new Sandbox(id, { ...DEFAULTS, snapshot, name: id, ...given(wanted) }, this.place);
		sandbox.onGone = () => this.sandboxes.delete(id);
		this.sandboxes.set(id, sandbox);
		this.everyOne.push(sandbox);
		return sandbox;
	}

	find(idOrName) {
		const sandbox = this.sandboxes.get(idOrName) ?? this.all().find(({ name }) => name === idOrName);
		if (!sandbox)
			throw notFound(idOrName);
		return sandbox;
	}

	byId(id) {
		return this.sandboxes.get(id);
	}

	// Deleted, though the proxy may still remember it.
	wasDeleted(id) {
		return !this.sandboxes.has(id) && this.everyOne.some((one) => one.id === id);
	}

	all() {
		return [...this.sandboxes.values()];
	}

	haltAll() {
		return Promise.all(this.all().map((sandbox) => sandbox.halt()));
	}
}
