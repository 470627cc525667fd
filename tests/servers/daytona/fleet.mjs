// All sandboxes of the server's one organization.
import { randomUUID } from "node:crypto";

import { ApiError, notFound } from "./api_error.mjs";
import { canPause } from "./control_input.mjs";
import { Sandbox } from "./sandbox.mjs";
import { Snapshots } from "./snapshots.mjs";

const DEFAULTS = {
	snapshot: "daytona-small", labels: {}, env: {}, target: "us", cpu: 1, memory: 1, disk: 3, autoArchiveInterval: 10080,
	autoDeleteInterval: -1,
};

// One interval is in use by default: what can be paused is, unless it is to be deleted when it rests.
function defaultIntervals(wanted, sandboxClass) {
	if ((wanted.autoStopInterval ?? wanted.autoPauseInterval ?? null) !== null)
		return { autoStopInterval: 0, autoPauseInterval: 0 };
	const isPaused = canPause(sandboxClass) && wanted.autoDeleteInterval !== 0;
	return { autoStopInterval: isPaused ? 0 : 15, autoPauseInterval: isPaused ? 60 : 0 };
}

const DEFAULT_ACCOUNT = "daytona";

function given({ user, ...wanted }) {
	const values = Object.entries(wanted).filter(([, value]) => value !== null);
	return { account: user ?? DEFAULT_ACCOUNT, ...Object.fromEntries(values) };
}

export class Fleet {
	constructor(place) {
		this.place = place;
		this.snapshots = new Snapshots(place.io);
		this.sandboxes = new Map();
		this.everyOne = [];
	}

	// It is not yet ready: see its create().
	add(wanted) {
		if (wanted.name && this.all().some(({ name }) => name === wanted.name))
			throw new ApiError(409, `Sandbox with name ${wanted.name} already exists`);
		const id = randomUUID();
		const snapshot = wanted.buildInfo ? undefined : DEFAULTS.snapshot;
		const sandboxClass = this.snapshots.classOf(wanted);
		const usual = { ...DEFAULTS, ...defaultIntervals(wanted, sandboxClass), snapshot, sandboxClass, name: id };
		const sandbox = new Sandbox(id, { ...usual, ...given(wanted) }, this.place);
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

	requireId(id) {
		const sandbox = this.byId(id);
		if (!sandbox)
			throw notFound(id);
		return sandbox;
	}

	// For 24 hours, by its ID.
	evicted(id) {
		return this.everyOne.find((one) => one.id === id && one.state === "destroyed" && one.spotEvictedAt);
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
