// One devbox: its states and its end. Suspending keeps the disk alone.
import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";

import { Guest } from "../lib/guest.mjs";

const DEFAULT_LIFETIME_S = 3600;
const ENDED = new Set(["failure", "shutdown"]);
// The jail's one ordinary user where the devbox is root's.
const SPARE_USER = "user";

export class Devbox extends Guest {
	// wanted: the body of its creation. place: { root, io, programs, user, limits }.
	constructor(wanted, place) {
		const user = wanted.launch_parameters?.user_parameters?.username ?? place.user;
		super(`dbx_${randomBytes(10).toString("hex")}`, place, user === "root" ? SPARE_USER : user);
		this.wanted = wanted;
		this.commandsUser = user;
		this.name = wanted.name || null;
		this.metadata = wanted.metadata ?? {};
		this.launch = { keep_alive_time_seconds: DEFAULT_LIFETIME_S, ...wanted.launch_parameters };
		this.afterIdle = this.launch.lifecycle?.after_idle ?? this.launch.after_idle;
		this.createdAt = Date.now();
		this.transitions = [];
		this.changes = new EventEmitter().setMaxListeners(0);
		this.enter("provisioning");
	}

	get hasEnded() {
		return ENDED.has(this.status);
	}

	enter(status) {
		this.status = status;
		this.transitions.push({ status, transition_time_ms: Date.now() });
		this.changes.emit("change");
	}

	// ---- Running -------------------------------------------------------------------------------------

	// Never fails: a devbox that cannot be started says so by its status.
	async boot() {
		const config = {
			devbox: this.id, user: this.commandsUser, env: this.wanted.environment_variables ?? {}, limits: this.place.limits,
		};
		try {
			await this.startDaemon({ hostname: "devbox", main: "runloop/daemon/main.mjs", config });
		} catch (error) {
			this.failure = error.message;
			return this.end("failure");
		}
		if (this.hasEnded)
			return this.jail.kill();
		this.enter("running");
		return this.beginLifetime();
	}

	beginLifetime() {
		const { idle_time_seconds: idleS, on_idle: onIdle } = this.afterIdle ?? {};
		const atEnd = (act, seconds) => {
			clearTimeout(this.timer);
			this.timer = setTimeout(act, seconds * 1000);
		};
		if (!this.afterIdle)
			atEnd(() => this.shutdown("keep_alive_timeout"), this.launch.keep_alive_time_seconds);
		else if (onIdle === "suspend")
			atEnd(() => this.suspend(), idleS);
		else
			atEnd(() => this.shutdown("idle"), idleS);
	}

	// A lifetime without `after_idle` is not longer for it.
	keepAlive() {
		if (this.afterIdle)
			this.beginLifetime();
	}

	openTunnel({ auth_mode: mode = "open", http_keep_alive: keepsAlive = true, wake_on_http: wakes = false }) {
		this.tunnel ??= {
			tunnel_key: randomBytes(12).toString("hex"),
			auth_mode: mode,
			auth_token: mode === "authenticated" ? randomBytes(16).toString("hex") : null,
			create_time_ms: Date.now(),
			http_keep_alive: keepsAlive,
			wake_on_http: wakes,
		};
		return this.tunnel;
	}

	async stopDaemon() {
		clearTimeout(this.timer);
		this.cutConnections();
		await this.jail?.kill();
	}

	// ---- Suspending and ending -----------------------------------------------------------------------

	async suspend() {
		this.enter("suspending");
		await this.stopDaemon();
		if (!this.hasEnded)
			this.enter("suspended");
	}

	resume() {
		this.enter("resuming");
		return this.boot();
	}

	end(status) {
		this.endedAt = Date.now();
		this.enter(status);
		return this.stopDaemon();
	}

	shutdown(reason) {
		this.shutdownReason = reason;
		return this.end("shutdown");
	}
}
