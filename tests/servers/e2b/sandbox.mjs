// One sandbox: its daemon, its lifetime, its states. running <-> paused, and at last gone.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { freeze } from "../lib/freeze.mjs";
import { Guest, ON_DISK } from "../lib/guest.mjs";
import { featuresOf } from "./envd/versions.mjs";

const USER = "user";
const MIN_AUTO_RESUME_MS = 300_000;

export class Sandbox extends Guest {
	// place: as lib/guest.mjs wants it, `user`: whose the commands are when nobody is asked for, and `version`: the
	// daemon's.
	constructor(id, wanted, place) {
		super(id, place, USER);
		Object.assign(this, wanted);
		this.state = "starting";
		this.version = place.version;
		this.token = wanted.secure ? randomBytes(32).toString("hex") : undefined;
		this.trafficToken = wanted.isPrivate ? randomBytes(32).toString("hex") : undefined;
		(wanted.volumeMounts ?? []).forEach((mount) => this.makeVolume(mount.path));
	}

	// Only below what lies on the disk.
	makeVolume(at) {
		const directory = path.join(this.directory, at);
		if (!ON_DISK.some((name) => at.startsWith(`/${name}/`)))
			return;
		fs.mkdirSync(directory, { recursive: true });
		fs.chmodSync(directory, 0o777);
	}

	get globals() {
		return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: this.id, E2B_TEMPLATE_ID: this.templateID, ...this.envVars };
	}

	async start(timeoutS) {
		const has = featuresOf(this.version);
		await this.startDaemon({
			hostname: "e2b.local",
			main: "e2b/envd/main.mjs",
			config: {
				token: this.token, globals: this.globals, has,
				...(has.defaultUser ? { defaultUser: this.place.user } : {}),
			},
		});
		this.begin(timeoutS);
	}

	begin(timeoutS) {
		this.state = "running";
		this.timeoutS = timeoutS;
		this.startedAt = Date.now();
		this.expireAt(this.startedAt + timeoutS * 1000);
	}

	expireAt(endAt) {
		this.endAt = endAt;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.expire(), endAt - Date.now());
	}

	expire() {
		return this.autoPause ? this.pause(this.autoPauseMemory) : this.kill();
	}

	// ---- Pause and resume ----------------------------------------------------------------------------

	async pause(keepMemory = true) {
		clearTimeout(this.timer);
		this.state = "paused";
		this.keptMemory = keepMemory;
		if (keepMemory)
			this.thaw = freeze(this.jail.pid);
		else
			await this.jail.kill();
		this.cutConnections();
	}

	async resume(timeoutS) {
		if (!this.keptMemory)
			return this.start(timeoutS);
		this.thaw();
		this.openConnections();
		return this.begin(timeoutS);
	}

	get canAutoResume() {
		return this.state === "paused" && this.autoResume && this.keptMemory;
	}

	autoResumeNow() {
		return this.resume(Math.max(MIN_AUTO_RESUME_MS / 1000, this.timeoutS));
	}

	async kill() {
		clearTimeout(this.timer);
		this.state = "killed";
		this.cutConnections();
		await this.jail?.kill();
		this.onGone?.();
	}
}
