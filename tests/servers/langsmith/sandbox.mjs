// One sandbox and its life: provisioning -> ready <-> stopped, or failed; at last gone.
import { randomBytes, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { freeze } from "../lib/freeze.mjs";
import { Guest, ON_DISK } from "../lib/guest.mjs";

const USER = "user";
const DEFAULTS = {
	idle_ttl_seconds: 600,
	delete_after_stop_seconds: 14 * 86400,
	vcpus: 1,
	mem_bytes: 4 * 2 ** 30,
	fs_capacity_bytes: 16 * 2 ** 30,
	labels: {},
	env_vars: {},
	persistent: true,
	preserve_memory_on_stop: false,
};

function clear(directory) {
	for (const name of fs.readdirSync(directory))
		fs.rmSync(path.join(directory, name), { recursive: true, force: true });
}

export class Sandbox extends Guest {
	// wanted: a checked request. place: as lib/guest.mjs wants it; defaultUser, isOld, outputMax and secondMs of it are
	// main.mjs's.
	constructor(wanted, place) {
		const id = randomUUID();
		super(id, place, USER);
		Object.assign(this, DEFAULTS, { name: `sandbox-${id.slice(0, 8)}` }, wanted);
		this.created = this.updated = new Date();
		this.status = "provisioning";
		// In its URL, so that nobody makes that up.
		this.route = randomBytes(16).toString("hex");
	}

	// ---- Start ---------------------------------------------------------------------------------------

	async startJailed() {
		const { place: { defaultUser, isOld, outputMax }, env_vars: environment, run_config: config } = this;
		await this.startDaemon({
			hostname: this.name.slice(0, 63),
			main: "langsmith/daemon/main.mjs",
			config: { defaultUser, isOld, outputMax, environment, config },
		});
	}

	// Never rejects: what fails is told by the status.
	boot(delayMs) {
		this.status = "provisioning";
		this.booted = new Promise((resolve) => setTimeout(resolve, delayMs)).then(() => this.come());
		return this.booted;
	}

	async come() {
		if (this.isGone)
			return;
		if (this.doom) {
			this.fail(this.doom);
			return;
		}
		try {
			await (this.thaw ? this.wakeFrozen() : this.startJailed());
			this.becomeReady();
		} catch (error) {
			this.fail(error.message);
		}
		if (this.isGone)
			await this.jail?.kill();
	}

	becomeReady() {
		this.status = "ready";
		this.stopped = undefined;
		this.touch();
	}

	fail(why) {
		this.status = "failed";
		this.status_message = why;
	}

	// ---- Idling --------------------------------------------------------------------------------------

	after(seconds, act) {
		clearTimeout(this.timer);
		if (seconds > 0)
			this.timer = setTimeout(act, Math.min(seconds * this.place.secondMs, 2 ** 31 - 1));
	}

	// Commands and files keep it up, questions about it do not.
	touch() {
		if (this.status === "ready")
			this.after(this.idle_ttl_seconds, () => (this.exchanges.size ? this.touch() : this.stop()));
	}

	update(wanted) {
		Object.assign(this, wanted, { updated: new Date() });
		this.touch();
	}

	// ---- Stop ----------------------------------------------------------------------------------------

	async stop() {
		this.status = "stopped";
		this.stopped = new Date();
		this.after(this.delete_after_stop_seconds, () => this.kill());
		if (this.preserve_memory_on_stop)
			this.thaw = freeze(this.jail.pid);
		else
			await this.jail.kill();
		this.cutConnections();
		if (!this.thaw)
			clear(path.join(this.directory, "tmp"));
		for (const name of this.persistent ? [] : ON_DISK)
			clear(path.join(this.directory, name));
	}

	wakeFrozen() {
		this.thaw();
		this.thaw = undefined;
		this.openConnections();
	}

	async kill() {
		clearTimeout(this.timer);
		this.isGone = true;
		this.status = "deleting";
		this.cutConnections();
		await this.jail?.kill();
		this.onGone?.();
	}
}
