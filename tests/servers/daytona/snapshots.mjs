// What sandboxes are made from: the vendor's own snapshots, and those of sandboxes.
import { randomUUID } from "node:crypto";
import path from "node:path";

import { ApiError, badRequest } from "./api_error.mjs";
import { canPause, GENERAL_SNAPSHOTS } from "./control_input.mjs";

const MACHINE = { size: 1, entrypoint: null, cpu: 1, gpu: 0, mem: 1, disk: 3 };

function make(name, sandboxClass, more) {
	const now = new Date().toISOString();
	return {
		id: randomUUID(), general: false, name, state: "active", ...MACHINE, errorReason: null, createdAt: now, updatedAt: now,
		lastUsedAt: null, sourceSandboxId: null, sandboxClass, ...more,
	};
}

export class Snapshots {
	// io: the folder of what they have.
	constructor(io) {
		this.io = io;
		this.all = Object.entries(GENERAL_SNAPSHOTS).map(([name, sandboxClass]) => make(name, sandboxClass, { general: true }));
	}

	find(idOrName) {
		return this.all.find(({ id, name }) => id === idOrName || name === idOrName);
	}

	require(idOrName) {
		const found = this.find(idOrName);
		if (!found)
			throw new ApiError(404, `Snapshot with ID or name ${idOrName} not found`);
		return found;
	}

	classOf({ snapshot }) {
		return this.find(snapshot)?.sandboxClass ?? "container";
	}

	newFolder() {
		return path.join(this.io, "snapshots", randomUUID());
	}

	// It is taken behind; the sandbox shows that meanwhile.
	async capture(sandbox, { name, includeMemory = false }) {
		if (this.find(name))
			throw new ApiError(409, `Snapshot with name "${name}" already exists for this organization`);
		if (includeMemory && !canPause(sandbox.sandboxClass))
			throw badRequest("Memory snapshots are not supported for this sandbox class");
		const wanted = canPause(sandbox.sandboxClass) && !includeMemory ? "stopped" : sandbox.state;
		if (sandbox.state !== wanted || !["started", "stopped"].includes(wanted))
			throw badRequest(`Sandbox must be ${wanted === sandbox.state ? "started or stopped" : wanted} to take a snapshot`);
		const folder = this.newFolder();
		const snapshot = make(name, sandbox.sandboxClass, { sourceSandboxId: sandbox.id, state: "pending" });
		Object.defineProperty(snapshot, "folder", { value: folder });
		this.all.push(snapshot);
		const taken = sandbox.whileShown("snapshotting", () => sandbox.capture(folder));
		taken.then(() => (snapshot.state = "active"));
	}

	remove(id) {
		const found = this.all.find((one) => one.id === id);
		if (!found)
			throw new ApiError(404, `Snapshot ${id} not found`);
		if (found.general)
			throw new ApiError(403, "You cannot delete a general snapshot");
		this.all = this.all.filter((one) => one !== found);
	}
}
