// One sandbox: its daemon, its lifetime, its states. running <-> paused, and at last gone.
import { randomBytes } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { freeze } from "../lib/freeze.mjs";
import { IN_FLIGHT } from "../lib/http.mjs";
import { makeHome, startJail } from "../lib/jail.mjs";

const SOURCE = fileURLToPath(new URL("..", import.meta.url));
const USER = "user";
const MIN_AUTO_RESUME_MS = 300_000;

export class Sandbox {
	// place: { root, io, programs }: folders for the files, for sockets (short), of the native programs.
	constructor(id, wanted, place) {
		Object.assign(this, { id, place, ...wanted });
		this.directory = path.join(place.root, id);
		this.io = path.join(place.io, id);
		this.state = "starting";
		this.exchanges = new Set();
		this.token = wanted.secure ? randomBytes(32).toString("hex") : undefined;
		makeHome(this.directory, USER);
	}

	get globals() {
		return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: this.id, E2B_TEMPLATE_ID: this.templateID, ...this.envVars };
	}

	async start(timeoutS) {
		this.jail = await startJail({
			directory: this.directory,
			io: this.io,
			user: USER,
			hostname: "e2b.local",
			programs: this.place.programs,
			daemon: {
				source: SOURCE,
				main: "e2b/envd/main.mjs",
				config: { token: this.token, defaultUser: this.place.user, globals: this.globals },
			},
		});
		this.begin(timeoutS);
	}

	begin(timeoutS) {
		this.agent = new http.Agent({ keepAlive: true, maxFreeSockets: 256, highWaterMark: IN_FLIGHT });
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

	// ---- Connections ---------------------------------------------------------------------------------

	// What goes through the edge does not live through a pause. Returns how to say that it is over.
	track(cut) {
		this.exchanges.add(cut);
		return () => this.exchanges.delete(cut);
	}

	cutConnections() {
		this.exchanges.forEach((cut) => cut());
		this.agent?.destroy();
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

	get received() {
		return path.join(this.io, "received");
	}
}
