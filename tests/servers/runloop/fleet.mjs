// All devboxes of the server's one account, those that have ended too; and what they can be made from.
import fs from "node:fs";
import path from "node:path";

import { ApiError } from "./api_error.mjs";
import { Devbox } from "./devbox.mjs";

export const BLUEPRINT = { id: "bpt_0123456789abcdef", name: "base" };

export class Fleet {
	constructor(place) {
		this.place = place;
		this.devboxes = new Map();
		this.snapshots = new Map();
	}

	checkSource({ blueprint_id: id, blueprint_name: name, snapshot_id: snapshot }) {
		if ((id && id !== BLUEPRINT.id) || (name && name !== BLUEPRINT.name))
			throw new ApiError(404, `Blueprint not found: ${id ?? name}`);
		if (snapshot && !this.snapshots.has(snapshot))
			throw new ApiError(404, `Snapshot not found: ${snapshot}`);
	}

	// It boots behind.
	create(wanted) {
		this.checkSource(wanted);
		const devbox = new Devbox(wanted, this.place);
		if (wanted.snapshot_id)
			fs.cpSync(this.snapshots.get(wanted.snapshot_id).directory, devbox.directory, { recursive: true });
		this.devboxes.set(devbox.id, devbox);
		devbox.boot();
		return devbox;
	}

	addSnapshot(devbox, wanted) {
		const snapshot = { id: `snp_${this.snapshots.size}`, devbox: devbox.id, createdAt: Date.now(), ...wanted };
		snapshot.directory = path.join(this.place.io, snapshot.id);
		fs.cpSync(devbox.directory, snapshot.directory, { recursive: true });
		this.snapshots.set(snapshot.id, snapshot);
		return snapshot;
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
