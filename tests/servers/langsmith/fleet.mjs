// All sandboxes and snapshots of the server's one account.
import { randomUUID } from "node:crypto";
import path from "node:path";

import { notFound, typed } from "./failure.mjs";
import { Sandbox } from "./sandbox.mjs";

const DEFAULT_SNAPSHOT = "base";

const withTag = (name) => (name.includes(":") ? name : `${name}:latest`);

export class Fleet {
	// place: as sandbox.mjs wants it. limits: { sandboxes, provisionMs }
	constructor(place, limits) {
		Object.assign(this, { place, limits });
		this.sandboxes = new Map();
		this.everyOne = [];
		this.snapshots = [];
		// Why the next sandbox is to fail.
		this.nextDoom = undefined;
		this.addSnapshot({ name: DEFAULT_SNAPSHOT, docker_image: "debian:stable" });
	}

	// ---- Snapshots -----------------------------------------------------------------------------------

	addSnapshot(wanted, folder, status = "ready") {
		const now = new Date().toISOString();
		const snapshot = { ...wanted, id: randomUUID(), status, created_at: now, updated_at: now };
		this.snapshots.push(snapshot);
		Object.defineProperty(snapshot, "folder", { value: folder });
		return snapshot;
	}

	async capture(sandbox, wanted) {
		const folder = path.join(this.place.io, "snapshots", randomUUID());
		await sandbox.capture(folder);
		return this.addSnapshot({ ...wanted, source_sandbox_id: sandbox.id }, folder);
	}

	findSnapshot(id) {
		const found = this.snapshots.find((one) => one.id === id);
		if (!found)
			throw typed(404, "ResourceNotFound", `Snapshot '${id}' not found`);
		return found;
	}

	// An image is pulled while it is asked for: it is ready, or is not there, the second time.
	lookAtSnapshot(id) {
		const snapshot = this.findSnapshot(id), seen = { ...snapshot };
		if (snapshot.status === "building" && /^no-such/.test(snapshot.docker_image))
			Object.assign(snapshot, { status: "failed", status_message: `pull access denied for ${snapshot.docker_image}` });
		else if (snapshot.status === "building")
			snapshot.status = "ready";
		return seen;
	}

	removeSnapshot(id) {
		this.snapshots.splice(this.snapshots.indexOf(this.findSnapshot(id)), 1);
	}

	snapshotFor({ snapshot_id: id, snapshot_name: name, snapshot: other }) {
		const wanted = name ?? other ?? DEFAULT_SNAPSHOT;
		const found = id ? this.findSnapshot(id) :
			this.snapshots.findLast((one) => withTag(one.name) === withTag(wanted));
		if (!found)
			throw typed(404, "ResourceNotFound", `Snapshot '${wanted}' not found`);
		if (found.status !== "ready")
			throw typed(409, "ResourceNotReady", `Snapshot '${found.name}' is ${found.status}`);
		return found;
	}

	// ---- Sandboxes -----------------------------------------------------------------------------------

	// Returns at once; `booted` of the result says when it is ready or failed.
	async create(wanted) {
		if (this.sandboxes.size >= this.limits.sandboxes)
			throw typed(429, "QuotaExceeded", `sandbox count limit of ${this.limits.sandboxes} reached`);
		this.requireFree(wanted.name);
		const snapshot = this.snapshotFor(wanted);
		const sandbox = new Sandbox({ ...wanted, snapshot_id: snapshot.id }, this.place);
		sandbox.onGone = () => this.sandboxes.delete(sandbox.id);
		this.sandboxes.set(sandbox.id, sandbox);
		this.everyOne.push(sandbox);
		if (snapshot.folder)
			await sandbox.restore(snapshot.folder);
		sandbox.doom = this.nextDoom;
		this.nextDoom = undefined;
		sandbox.boot(this.limits.provisionMs);
		return sandbox;
	}

	all() {
		return [...this.sandboxes.values()];
	}

	find(name) {
		const found = this.sandboxes.get(name) ?? this.all().find((one) => one.name === name);
		if (!found)
			throw notFound(name);
		return found;
	}

	byRoute(route) {
		return this.all().find((one) => one.route === route);
	}

	requireFree(name, sandbox) {
		if (this.all().some((one) => one !== sandbox && one.name === name))
			throw typed(409, "Conflict", `Sandbox name '${name}' already in use`);
	}

	killAll() {
		return Promise.all(this.all().map((sandbox) => sandbox.kill()));
	}
}
