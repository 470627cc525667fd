// One sandbox: its daemon, its lifetime, its result. It is queued, runs, and has finished.
import http2 from "node:http2";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { makeHome, startJail } from "../lib/jail.mjs";
import { Result } from "./control_messages.mjs";

const SOURCE = fileURLToPath(new URL("..", import.meta.url));
// The one ordinary user there is inside; the vendor's own sandboxes work as root.
const ORDINARY_USER = "user";
const CONNECTION_WINDOW = 16 << 20;
const WINDOW = 4 << 20;

export class Sandbox {
	// wanted: { isV2, taskId, appId, definition, tags, env }; place: { root, io, programs, user }
	constructor(id, wanted, place) {
		Object.assign(this, { id, place, ...wanted });
		this.directory = path.join(place.root, id);
		this.io = path.join(place.io, id);
		this.createdAt = Date.now();
		this.generation = 0;
		this.tokens = [];
		this.waiters = new Set();
		this.sessions = new Set();
		makeHome(this.directory, ORDINARY_USER);
	}

	get isRunning() {
		return this.jail !== undefined && !this.result;
	}

	get globals() {
		return { MODAL_IS_REMOTE: "1", MODAL_SANDBOX_ID: this.id, MODAL_TASK_ID: this.taskId, ...this.env };
	}

	async start() {
		this.jail = await startJail({
			directory: this.directory,
			io: this.io,
			user: ORDINARY_USER,
			hostname: "modal",
			programs: this.place.programs,
			daemon: {
				source: SOURCE,
				main: "modal/router/main.mjs",
				config: {
					taskId: this.taskId, user: this.place.user, globals: this.globals, workdir: this.definition.workdir,
					entrypoint: this.definition.entrypointArgs,
				},
			},
		});
		this.startedAt = Date.now();
		this.timer = setTimeout(() => this.finish({ status: Result.TIMEOUT }), this.definition.timeoutSecs * 1000);
		this.watchIdle();
		this.wake();
	}

	// ---- Its daemon ----------------------------------------------------------------------------------

	connect() {
		const session = http2.connect("http://router", {
			createConnection: () => net.connect(this.jail.socket),
			settings: { initialWindowSize: WINDOW },
		});
		// A call that was given up has destroyed it by then.
		session.on("connect", () => session.destroyed || session.setLocalWindowSize(CONNECTION_WINDOW));
		session.on("error", () => {});
		session.once("close", () => this.sessions.delete(session));
		this.sessions.add(session);
		return session;
	}

	// Each call has a connection of its own: Node does not read from one while it writes to it, so two calls that both move
	// much, one either way, would stop each other for good.
	request(headers) {
		const session = this.connect();
		const call = session.request(headers);
		call.once("close", () => session.close());
		return call;
	}

	// ---- Waiting -------------------------------------------------------------------------------------

	wake() {
		this.waiters.forEach((go) => go());
		this.waiters.clear();
	}

	// Resolves when something has changed, or the time is over.
	changed(ms) {
		return new Promise((resolve) => {
			const timer = setTimeout(resolve, ms);
			this.waiters.add(() => (clearTimeout(timer), resolve()));
		});
	}

	async until(isSo, seconds) {
		const end = Date.now() + seconds * 1000;
		while (!isSo() && Date.now() < end)
			await this.changed(end - Date.now());
	}

	// ---- The end -------------------------------------------------------------------------------------

	// Asked of the daemon: whether a command runs, and since when none does.
	activity() {
		return new Promise((resolve) => {
			const ask = this.request({ ":path": "/activity" });
			const parts = [];
			ask.on("data", (part) => parts.push(part));
			ask.on("end", () => resolve(JSON.parse(Buffer.concat(parts).toString() || "{}")));
			ask.on("error", () => resolve({}));
		});
	}

	watchIdle() {
		const limitMs = (this.definition.idleTimeoutSecs ?? 0) * 1000;
		if (!limitMs)
			return;
		const check = async () => {
			const { running = 0, idleMs = 0 } = await this.activity();
			if (this.result)
				return;
			if (!running && idleMs >= limitMs)
				this.finish({ status: Result.IDLE_TIMEOUT });
			else
				this.idleTimer = setTimeout(check, running ? limitMs : limitMs - idleMs);
		};
		this.idleTimer = setTimeout(check, limitMs);
	}

	async finish(result) {
		if (this.result)
			return;
		this.result = result;
		this.finishedAt = Date.now();
		clearTimeout(this.timer);
		clearTimeout(this.idleTimer);
		this.sessions.forEach((session) => session.destroy());
		await this.jail?.kill();
		this.wake();
	}

	get received() {
		return path.join(this.io, "received");
	}
}
