// All devboxes of the server's one account, those that have ended too; and what they can be made from.
import { EventEmitter } from "node:events";
import fs from "node:fs";
import path from "node:path";

import { ApiError } from "./api_error.mjs";
import { Devbox } from "./devbox.mjs";

const BLUEPRINT = { id: "bpt_0123456789abcdef", name: "base", status: "build_complete" };

export class Fleet {
	constructor(place) {
		this.place = place;
		this.devboxes = new Map();
		this.snapshots = new Map();
		this.snapshotsMade = 0;
		this.evictions = new EventEmitter().setMaxListeners(0);
		this.blueprints = [BLUEPRINT];
	}

	addBlueprint(wanted) {
		const blueprint = { id: `bpt_${this.blueprints.length}`, status: "building", ...wanted };
		this.blueprints.unshift(blueprint);
		return blueprint;
	}

	findBlueprint(id) {
		const found = this.blueprints.find((one) => one.id === id);
		if (!found)
			throw new ApiError(404, `Blueprint not found: ${id}`);
		return found;
	}

	// It is built while it is asked for: it is there, or has failed, the second time.
	lookAtBlueprint(id) {
		const blueprint = this.findBlueprint(id), seen = { ...blueprint };
		if (blueprint.status === "building" && /^FROM no-such/.test(blueprint.dockerfile))
			Object.assign(blueprint, { status: "failed", failure_reason: "build_failed" });
		else if (blueprint.status === "building")
			blueprint.status = "build_complete";
		return seen;
	}

	checkSource({ blueprint_id: id, blueprint_name: name, snapshot_id: snapshot }) {
		const blueprint = this.blueprints.find((one) => (id && one.id === id) || (name && one.name === name));
		if ((id || name) && !blueprint)
			throw new ApiError(404, `Blueprint not found: ${id ?? name}`);
		if (blueprint && blueprint.status !== "build_complete")
			throw new ApiError(400, `Blueprint ${blueprint.id} is not built`);
		if (snapshot && (this.findSnapshot(snapshot).status ?? "complete") !== "complete")
			throw new ApiError(400, `Snapshot ${snapshot} is not complete`);
		return blueprint?.id;
	}

	// It boots behind.
	create(wanted) {
		const blueprint = this.checkSource(wanted);
		const devbox = new Devbox(wanted, this.place);
		devbox.blueprint = blueprint;
		if (wanted.snapshot_id)
			fs.cpSync(this.snapshots.get(wanted.snapshot_id).directory, devbox.directory, { recursive: true });
		this.devboxes.set(devbox.id, devbox);
		devbox.boot();
		return devbox;
	}

	addSnapshot(devbox, wanted) {
		const snapshot = { id: `snp_${this.snapshotsMade++}`, devbox: devbox.id, createdAt: Date.now(), ...wanted };
		snapshot.directory = path.join(this.place.io, snapshot.id);
		fs.cpSync(devbox.directory, snapshot.directory, { recursive: true });
		this.snapshots.set(snapshot.id, snapshot);
		return snapshot;
	}

	findSnapshot(id) {
		const found = this.snapshots.get(id);
		if (!found)
			throw new ApiError(404, `Snapshot not found: ${id}`);
		return found;
	}

	// It is taken while it is asked for: it is complete, or has failed, the second time.
	lookAtSnapshot(id) {
		const snapshot = this.findSnapshot(id), { status = "complete" } = snapshot;
		if (status === "in_progress")
			snapshot.status = /^fails/.test(snapshot.name) ? "error" : "complete";
		return { ...snapshot, status };
	}

	deleteSnapshot(id) {
		const { directory } = this.findSnapshot(id);
		fs.rmSync(directory, { recursive: true });
		this.snapshots.delete(id);
	}

	// It is suspended then, as when its machine is needed.
	evict(devbox, inMs) {
		devbox.evictionAt = Date.now() + inMs;
		setTimeout(() => devbox.status === "running" && devbox.suspend(), inMs).unref();
		this.evictions.emit("change");
	}

	pendingEvictions() {
		return this.all().filter(({ evictionAt, hasEnded }) => evictionAt > Date.now() && !hasEnded)
			.map(({ id, evictionAt }) => ({ devbox_id: id, eviction_deadline_ms: evictionAt }));
	}

	find(id) {
		return this.devboxes.get(id);
	}

	// The newest first.
	all() {
		return [...this.devboxes.values()].reverse();
	}

	endAll() {
		const alive = this.all().filter(({ hasEnded }) => !hasEnded);
		return Promise.all(alive.map((devbox) => devbox.shutdown("api_shutdown")));
	}
}
